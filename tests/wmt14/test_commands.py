"""DRY_RUN=1: complete commands, as fairseq's own parsers take them; and what the scripts refuse before they start."""

import pytest

from examples.common.variables import read_table
from examples.wmt14.settings import REACH, Settings, text_of
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.encodings.numbering import numbering
from fairseq_posenc.errors import InputError
from tests.support.recipes import WMT14, commands, names, parse, rows

TABLES = {"table1": "base", "table2": "big", "all": "base", "figure3": "base"}


@pytest.fixture(scope="module")
def dry(wmt14_script, tmp_path_factory):
    """Commands of a dry run of reproduce.sh, each run once."""
    printed = {}

    def run(what, **variables):
        key = (what, *sorted(variables.items()))
        if key not in printed:
            work = tmp_path_factory.mktemp("dry") / "my work"  # a space, as folders have
            result = wmt14_script("reproduce.sh", what, DRY_RUN=1, WORK=work, **variables)
            assert result.returncode == 0, result.stderr
            assert not work.exists()
            printed[key] = commands(result.stdout)
        return printed[key]

    return run


def test_the_rows_are_registered_encodings():

    for table in TABLES:
        assert {row["encoding"] for row in rows(WMT14, table)} <= set(encoding_names()), table
    assert set(names("all")) == set(encoding_names())
    assert names("table1") == ["none", "sinusoidal", "learned", "shaw", "adaptive-t5", "posnet-attn", "posnet-embed"]
    assert names("table2") == ["sinusoidal", "shaw", "posnet-embed"]


@pytest.mark.parametrize(("what", "scale"), [("table1", "paper"), ("table2", "paper"), ("all", "small")])
def test_every_printed_command_is_one_that_fairseq_takes(what, scale, dry):
    printed = dry(what, SCALE=scale)
    trainings = [parse(words) for words in printed if words[0] == "fairseq-train"]
    generations = [parse(words) for words in printed if words[0] == "fairseq-generate"]
    preparations = [parse(words) for words in printed if words[0] == "fairseq-preprocess"]
    wanted = [(pair, name) for pair in ("en-de", "en-fr") for name in (row["encoding"] for row in rows(WMT14, what))]
    assert [(f"{args.source_lang}-{args.target_lang}", args.arch) for args in trainings] == [
        (pair, f"transformer_{name.replace('-', '_')}_{architecture(scale, TABLES[what])}") for pair, name in wanted
    ]
    assert [args.position_encoding for args in trainings] == [name for _, name in wanted]
    assert len(generations) == len(trainings) and len(preparations) == 2
    for training, generation in zip(trainings, generations):
        assert generation.data == training.data and generation.user_dir == "fairseq_posenc"
        assert (generation.beam, generation.lenpen, generation.post_process) == (4, 0.6, "subword_nmt")
        assert generation.gen_subset == "test"
        assert (generation.source_lang, generation.target_lang) == (training.source_lang, training.target_lang)
    assert {args.destdir.removesuffix(".partial") for args in preparations} == {args.data for args in trainings}
    assert not any("..." in word or "$" in word for words in printed for word in words if words[0] != "python")


def test_a_system_goes_on_from_another_one(dry):
    for scale, whole, rest in (("paper", (150_000, 0), (37_500, 0)), ("small", (0, 12), (0, 3))):
        trainings = [parse(words) for words in dry("swap", SCALE=scale) if words[0] == "fairseq-train"]
        trainings = [args for args in trainings if args.target_lang == "de"]
        assert [args.position_encoding for args in trainings] == ["sinusoidal", "sinusoidal", "rope", "alibi", "none"]
        first, *others = trainings
        assert first.finetune_from_model is None and (first.max_update, first.max_epoch) == whole
        for args in others:
            assert (
                args.finetune_from_model == f"{first.save_dir}/checkpoint_last.pt" and args.save_dir != first.save_dir
            )
            assert (args.max_update, args.max_epoch) == rest and args.keep_interval_updates >= 5


def test_posnet_is_placed_initialised_and_shared_in_other_ways(dry):
    trainings = [parse(words) for words in dry("posnet", SCALE="small") if words[0] == "fairseq-train"]
    flags = ("decoder_position_encoding", "posnet_init", "posnet_kernels")
    found = {
        args.save_dir.split("/")[-3]: (args.position_encoding, *(vars(args).get(flag) for flag in flags))
        for args in trainings
    }
    posnet = "posnet-embed"
    assert found == {
        "sinusoidal": ("sinusoidal", None, None, None),
        posnet: (posnet, None, None, None),
        "posnet-embed-slice": (posnet, None, "slice", None),
        "posnet-embed-separate": (posnet, None, None, "separate"),
        "posnet-embed-encoder": (posnet, "none", None, None),
        "posnet-embed-encoder-sinusoidal": (posnet, "sinusoidal", None, None),
    }


def test_any_rows_of_positions_have_the_same_bands(wmt14_script, tmp_path):
    """Each training text sets the limit of a band; a table of single-text rows alone can be joined with others."""
    arguments = ("reproduce.sh", "positions", "--only", "sinusoidal,rope")
    printed = wmt14_script(*arguments, DRY_RUN=1, SCALE="smoke", WORK=tmp_path / "work").stdout
    (words,) = [words for words in commands(printed) if "examples.wmt14.bands" in words]
    assert [words[index + 1] for index, word in enumerate(words) if word == "--training"] == ["single", "joined"]
    assert sum("examples.wmt14.corpus.joined_training" in words for words in commands(printed)) == 1


def takes(encoding, positions):
    """Whether numbers of positions make a difference for an encoding that has them."""
    encoding_type = encoding_class(encoding)
    if encoding in ("none", "forgetting"):
        return False
    return not (positions == "shift" and encoding_type.translation_invariant) and encoding_type.numbers != "consecutive"


def test_the_rows_of_positions_are_all_that_are_defined():
    found = {}
    for row in rows(WMT14, "positions"):
        words = row["options"].split()
        positions = words[1].removesuffix(":@reach") if words[0] == "--positions" else "index"
        found.setdefault(row["encoding"], []).append((positions, row["text"]))
        parts = [row["encoding"], "" if positions == "index" else positions, row["text"].replace("single", "")]
        assert row["name"] == "-".join(filter(None, parts))
    assert list(found) == names("all")
    for encoding, combinations in found.items():
        forms = ["index", *(form for form in ("shift", "random") if takes(encoding, form))]
        assert combinations == [(form, text) for form in forms for text in ("single", "joined")], encoding


@pytest.mark.parametrize(("corpus", "scale"), [("multi30k", "small"), ("newstest", "small"), ("wmt14", "paper")])
def test_systems_of_positions_read_the_longest_test_sentences(corpus, scale, monkeypatch):
    """Up to 539 of newstest and 175 of Multi30k, with the end of the sentence; translations up to half as many more."""
    monkeypatch.setenv("SCALE", scale)
    longest, settings = {"multi30k": 175}.get(corpus, 539), Settings(corpus)
    assert REACH[corpus] / 2 < 1.5 * longest + 10 <= REACH[corpus]
    tables = {"learned": 1024, "posnet-embed": 512, "posnet-attn": 512}
    for row in read_table(WMT14 / "rows" / "positions.tsv"):
        words = settings.row_options(row)
        options = dict(zip(words[::2], words[1::2]))
        # Those trained on single sentences with their indices are the systems of other tables, too.
        if row["encoding"] in tables and ("--positions" in options or row["text"] == "joined"):
            given = (int(value) for option, value in options.items() if "max-" in option)
            table = next(given, tables[row["encoding"]])
            assert numbering(options.get("--positions", "index")).longest(table) >= 1.5 * longest, row["name"]


def test_joined_rows_are_trained_on_a_text_of_their_own(dry):
    printed = dry("positions", SCALE="small", CORPUS="newstest")
    trainings = {parse(words).save_dir.split("/")[-3]: parse(words) for words in printed if words[0] == "fairseq-train"}
    assert list(trainings) == names("positions")
    for name, args in trainings.items():
        assert args.data.endswith("/en-fr/joined-training/binary" if name.endswith("-joined") else "/en-fr/binary")
    alone, joined = trainings["sinusoidal-random"], trainings["sinusoidal-random-joined"]
    assert str(alone.positions) == str(joined.positions) == "random:1024"
    differ = {key for key, value in vars(alone).items() if value != vars(joined)[key]}
    assert differ == {"data", "save_dir", "log_file"}
    # The same dictionaries and validation set; no test set.
    preparations = [parse(words) for words in printed if words[0] == "fairseq-preprocess"]
    (made,) = [args for args in preparations if args.target_lang == "fr" and "joined-training" in args.destdir]
    assert made.srcdict.endswith("/en-fr/binary/dict.en.txt") and made.tgtdict.endswith("/en-fr/binary/dict.fr.txt")
    assert made.validpref.endswith("/en-fr/prepared/bpe.valid") and made.testpref is None
    (joiner,) = [words for words in printed if "examples.wmt14.corpus.joined_training" in words and words[-1] == "fr"]
    assert joiner[3].endswith("/en-fr/prepared/clean.train")
    # Each system translates once: all sentences, joined or not.
    generations = [parse(words) for words in printed if words[0] == "fairseq-generate"]
    assert len(generations) == 2 * len(trainings)
    assert {(args.max_len_a, args.max_len_b, args.data.split("/")[-2]) for args in generations} == {(1.5, 10, "joined")}
    tables = [words for words in printed if "examples.wmt14.bands" in words]
    assert [words[words.index("--pair") + 1] for words in tables] == ["en-de", "en-fr"]


def test_lengths_of_several_seeds_are_a_file_each_and_one_table(dry):
    printed = dry("lengths", SCALE="small", SEEDS="1 2")
    stems = [words[words.index("--json") + 1] for words in printed if words[:2] == ["fairseq-posenc", "lengths"]]
    assert stems == [f"results/lengths-{pair}-seed{seed}.json" for pair in ("en-de", "en-fr") for seed in (1, 2)]
    tables = [words for words in printed if "examples.wmt14.bands" in words]
    assert len(tables) == 2 and not any("joined-training" in word for words in printed for word in words)


def test_limits_of_systems_are_known_before_the_first_training(dry):
    """And each system translates after its own training, not after the last one."""
    printed = dry("positions", SCALE="small", CORPUS="newstest")
    limits = [words for words in printed if "examples.wmt14.limit" in words]
    trainings = [words for words in printed if words[0] == "fairseq-train"]
    order = [words[0] for words in printed if words in limits or words[0] in ("fairseq-train", "fairseq-generate")]
    assert order == ["python"] * len(limits) + ["fairseq-train", "fairseq-generate"] * len(trainings)
    assert len(limits) == len(trainings) == 2 * len(names("positions"))
    for limit, training in zip(limits, trainings):
        options = limit[4 : limit.index(">")]
        assert options[0] == "--arch" and set(options) <= set(training), training
        assert all(word in options for word in training if word == "--positions" or "-max-positions" in word)


@pytest.mark.parametrize("text", [None, "-"])
def test_a_row_without_a_training_text_has_single_sentences(text):
    assert text_of({"name": "rope", **({} if text is None else {"text": None})}) == "single"


def test_an_unknown_training_text_is_refused():
    with pytest.raises(InputError, match="^rope: training text twice is not one of single, joined$"):
        text_of({"name": "rope", "text": "twice"})


def architecture(scale, size):
    return "iwslt_de_en" if scale != "paper" else "wmt_en_de" if size == "base" else "wmt_en_de_big"


def test_the_papers_settings(dry):
    for what in ("table1", "table2"):
        for words in dry(what, SCALE="paper"):
            if words[0] != "fairseq-train":
                continue
            args = parse(words)
            assert args.fp16 and args.max_tokens == 4096 and args.update_freq == [8]
            assert args.lr == [7e-4] and args.warmup_updates == 4000 and args.warmup_init_lr == 1e-7
            assert args.adam_betas == "(0.9, 0.98)" and args.adam_eps == 1e-9 and args.label_smoothing == 0.1
            assert args.max_update == 150_000 and args.patience == 30 and args.share_all_embeddings
            assert args.save_interval_updates and args.keep_interval_updates >= 5
            big = what == "table2"
            assert args.dropout == (0.3 if big and args.target_lang == "de" else 0.1)
            assert args.attention_dropout == (0.1 if big else 0.0)
            assert args.encoder_embed_dim == (1024 if big else 512)
            assert args.encoder_layers == args.decoder_layers == 6
    trainings = [parse(words) for words in dry("table2", SCALE="paper") if words[0] == "fairseq-train"]
    assert [args.shaw_clip for args in trainings if args.position_encoding == "shaw"] == [8, 8]
    assert [args.posnet_dim for args in trainings if args.position_encoding == "posnet-embed"] == [256, 256]


def test_the_kernel_dimensions_of_figure_3(dry):
    printed = dry("figure3", SCALE="paper")
    trainings = [parse(words) for words in printed if words[0] == "fairseq-train"]
    assert [args.posnet_dim for args in trainings] == 2 * [16, 32, 64, 96, 128, 256, 512]
    assert len({args.save_dir for args in trainings}) == 14
    # The paper's figure is of the validation set.
    assert {parse(words).gen_subset for words in printed if words[0] == "fairseq-generate"} == {"valid"}


@pytest.mark.parametrize("processes", [(1, 1), (2, 1), (8, 1), (4, 2)])
def test_any_number_of_gpus_and_machines_keeps_the_batch(processes, wmt14_script, tmp_path):
    gpus, machines = processes
    variables = {"SCALE": "paper", "WORK": tmp_path, "DRY_RUN": 1, "GPUS": gpus, "NNODES": machines}
    if machines > 1:
        variables |= {"NODE_RANK": 1, "MASTER_ADDR": "first.example"}
    (_, words) = commands(wmt14_script("train.sh", "none", "en-de", "base", **variables).stdout)
    start = words.index("fairseq-train")
    args = parse(words[start:])
    assert args.update_freq == [8 // (gpus * machines)] and args.distributed_world_size == gpus * machines
    if gpus * machines == 1:
        assert start == 0
    else:
        assert words[0] == "torchrun" and words[words.index("--nproc_per_node") + 1] == str(gpus)
    if machines > 1:
        assert words[words.index("--node_rank") + 1] == "1"
        assert words[words.index("--master_addr") + 1] == "first.example"


BAD_TRAINING = [
    (("snoopy", "en-de", "base"), {}, "encoding snoopy is not one of adaptive-t5, alibi"),
    (("none", "de-en", "base"), {}, "language pair de-en is not one of en-de, en-fr"),
    (("none", "en-de", "huge"), {}, "size huge is not one of base, big"),
    (("none", "en-de"), {}, "give ENCODING"),
    (("none", "en-de", "base"), {}, "no data in "),
    (("none", "en-de", "base"), {"GPUS": "3"}, "GPUS x NNODES = 3 does not divide"),
    (("none", "en-de", "base"), {"GPUS": "0"}, "GPUS 0 is not a whole number above 0"),
    (("none", "en-de", "base"), {"GPUS": "2", "SCALE": "small"}, "SCALE=small trains in one process"),
    (("none", "en-de", "base"), {"NNODES": "2"}, "NNODES=2 needs MASTER_ADDR"),
    (("none", "en-de", "base"), {"NNODES": "2", "MASTER_ADDR": "a", "NODE_RANK": "2"}, "NODE_RANK=2 is not below"),
    (("none", "en-de", "base"), {"NAME": "a b"}, "NAME a b is not a valid name"),
    (("none", "en-de", "base"), {"SEED": "x"}, "SEED x is not a whole number above 0"),
    (("none", "en-de", "base"), {"VENV": "/nowhere", "PATH": "/usr/bin:/bin"}, "run scripts/setup.sh"),
]


@pytest.mark.parametrize(("arguments", "variables", "message"), BAD_TRAINING)
def test_training_refuses_before_it_starts(arguments, variables, message, wmt14_script, tmp_path):
    dry = {} if message.startswith("no data") else {"DRY_RUN": "1"}  # so that the missing data is not what it refuses
    result = wmt14_script("train.sh", *arguments, **{"SCALE": "paper", "WORK": tmp_path / "work", **dry, **variables})
    assert result.returncode == 2 and not result.stdout
    assert result.stderr.count("\n") == 1 and message in result.stderr
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("script", "arguments", "variables", "message"),
    [
        ("reproduce.sh", (), {}, "give the name of a table or figure, such as table1"),
        ("reproduce.sh", ("table4",), {}, "table4 is not one of table1"),
        ("reproduce.sh", ("table1", "--pairs", "en-ru"), {}, "language pair en-ru"),
        ("reproduce.sh", ("table1", "--pair", "en-de"), {}, "option --pair is not one of"),
        ("reproduce.sh", ("table1", "--only", "rope"), {}, "--only rope is not a system of table1; "),
        ("reproduce.sh", ("table1", "--only", "shaw", "--task", "1"), {}, "give one of them"),
        ("reproduce.sh", ("table1",), {"SEEDS": "1 two"}, "SEEDS two is not a whole number"),
        ("reproduce.sh", ("figure4",), {"SEEDS": "1 2"}, "figure4 uses one seed"),
        ("reproduce.sh", ("positions", "--only", "rope-shift"), {}, "--only rope-shift is not a system of positions; "),
        ("reproduce.sh", ("table3", "--pairs", "en-de"), {}, "table3 needs no text"),
        ("reproduce.sh", ("table1",), {"JOBS": "0"}, "JOBS 0 is not a whole number"),
        ("reproduce.sh", ("table1", "--pairs", "en-fr"), {"SCALE": "smoke"}, "SCALE=smoke has only en-de"),
        ("reproduce.sh", ("table1",), {"SCALE": "tiny"}, "SCALE=tiny is not one of paper, small, smoke"),
        ("generate.sh", ("none", "en-de", "base"), {}, "no checkpoints in "),
        ("generate.sh", ("none", "en-de", "base"), {"SET": "train"}, "SET=train is not one of test, valid, joined"),
        ("generate.sh", ("none", "en-de", "base"), {"AVERAGE": "-1"}, "AVERAGE -1 is not a whole number"),
        ("score.sh", ("en-de", "base", "none"), {}, "no translations in "),
        ("joined.sh", ("en-de",), {}, "no data in "),
    ],
)
def test_the_other_scripts_refuse_in_one_line(script, arguments, variables, message, wmt14_script, tmp_path):
    result = wmt14_script(script, *arguments, **{"SCALE": "small", "WORK": tmp_path / "work", **variables})
    assert result.returncode == 2 and not result.stdout
    assert result.stderr.count("\n") == 1 and message in result.stderr
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("script", ["prepare.sh", "train.sh", "generate.sh", "score.sh", "joined.sh", "reproduce.sh"])
def test_help(script, wmt14_script):
    result = wmt14_script(script, "-h")
    assert result.returncode == 0 and f"  {script} " in result.stdout and not result.stderr
