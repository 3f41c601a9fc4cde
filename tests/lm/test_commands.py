"""DRY_RUN=1: complete commands, as the parsers of fairseq and fairseq-posenc take them; what is refused."""

import argparse
import importlib
from collections import Counter

import pytest

from fairseq_posenc.cli import COMMANDS
from tests.support.recipes import LM, commands, parse, rows, table

RESULTS = {line["name"]: line for line in table(LM / "results.tsv")}
PAPERS = [
    *(f"lex-{name}" for name in ("figure1", "figure2", "table2", "table3", "table4", "table5", "table6")),
    *(f"sandwich-table{number}" for number in range(1, 6)),
    *(f"sandwich-figure{number}" for number in range(4, 14)),
]


def own(words):
    """What the parser of a command of fairseq-posenc makes of its words."""
    parser = argparse.ArgumentParser()
    importlib.import_module(COMMANDS[words[1]][0]).add_arguments(parser)
    return parser.parse_args(words[2:])


def training(words):
    """What fairseq-train makes of a training's words, torchrun's left out."""
    return parse(words[words.index("fairseq-train") :])


@pytest.fixture(scope="module")
def dry(lm_script, tmp_path_factory):
    """Commands of a dry run of reproduce.sh, each run once."""
    printed = {}

    def run(what, *arguments, **variables):
        key = (what, *arguments, *sorted(variables.items()))
        if key not in printed:
            work = tmp_path_factory.mktemp("dry") / "my work"  # a blank, as folders have
            result = lm_script("reproduce.sh", what, *arguments, DRY_RUN=1, WORK=work, **variables)
            assert result.returncode == 0, result.stderr
            assert not work.exists()
            printed[key] = commands(result.stdout)
        return printed[key]

    return run


def test_every_table_and_figure_has_its_rows():
    assert set(RESULTS) >= {*PAPERS, "drop", "all"}
    from fairseq_posenc.encodings import encoding_names

    for path in (LM / "rows").glob("*.tsv"):
        assert {row["encoding"] for row in rows(LM, path.stem)} <= set(encoding_names())
        trained = {row["system"]: (row["encoding"], row["options"]) for row in rows(LM, path.stem)}
        # Rows of one system are one training.
        assert all(trained[row["system"]] == (row["encoding"], row["options"]) for row in rows(LM, path.stem))
    assert {row["encoding"] for row in rows(LM, "all")} == set(encoding_names())


def test_a_name_is_one_training_in_all_rows_of_a_paper():
    seen = {}
    for result in RESULTS.values():
        for row in rows(LM, result["rows"]) if result["rows"] != "-" else ():
            fingerprint = seen.setdefault((result["paper"], row["system"]), (row["encoding"], row["options"]))
            assert fingerprint == (row["encoding"], row["options"]), row


@pytest.mark.parametrize("what", RESULTS)
def test_the_printed_commands_are_complete(what, dry):
    """At paper scale, every result; each kind of command once by its own parser."""
    printed = dry(what, SCALE="paper")
    result = RESULTS[what]
    assert not any("..." in word or "$" in word or "@" in word for words in printed for word in words)
    kinds = Counter(words[0] if words[0] != "fairseq-posenc" else words[1] for words in printed)
    if result["rows"] == "-":
        assert kinds["fairseq-train"] == 0
        (words,) = [words for words in printed if words[1] in ("resolution", "receptive-field")]
        assert own(words).closed_form and own(words).lengths == [int(result["lengths"])]
        return
    measured = [own(words) for words in printed if words[1] in ("extrapolate", "resolution", "receptive-field")]
    saved = {words[words.index("--save-dir") + 1] for words in printed if "fairseq-train" in words}
    read = {f"/{path.removesuffix('/checkpoint_last.pt')}" for args in measured for path in args.path}
    # Each training once, and nothing is read that was not trained.
    assert len(saved) == kinds["fairseq-train"] == len(read)
    assert all(any(folder.endswith(path) for folder in saved) for path in read)
    lengths = {length for args in measured for length in args.lengths}
    assert sorted(lengths) == [int(length) for length in result["lengths"].split(",")]
    assert {args.device for args in measured} == {"cuda"} and {args.data for args in measured} == {"binary"}
    if result["measure"] in ("pieces", "last-token"):
        assert {args.protocol for args in measured} == {result["measure"]}
    names = {name for args in measured for name in args.names}
    table = next(words for words in printed if "examples.lm.length_table" in words)
    assert {table[place + 2] for place, word in enumerate(table) if word == "--row"} == names
    assert kinds["fairseq-preprocess"] == 1 and kinds["plot"] == 1


def test_a_system_goes_on_from_another_one(dry):
    """For an eighth of its updates, also where only one of both is asked for."""
    for chosen in ((), ("--only", "rope-to-none")):
        trainings = [training(words) for words in dry("drop", *chosen, SCALE="small") if words[0] == "fairseq-train"]
        found = {args.save_dir.split("/")[-3]: args for args in trainings}
        assert list(found)[0] == "rope" and found["rope"].finetune_from_model is None
        after = found["rope-to-none"]
        assert after.position_encoding == "none" and (found["rope"].max_update, after.max_update) == (1200, 150)
        assert float(after.total_num_update) == 150 and after.warmup_updates == 15
        assert after.finetune_from_model == f"{found['rope'].save_dir}/checkpoint_last.pt"


def test_every_training_is_one_that_fairseq_takes(dry):
    """The architectures of the papers' sizes, and every option of every row."""
    found = {}
    for what in PAPERS:
        for words in dry(what, SCALE="paper"):
            if "fairseq-train" in words and words[words.index("--seed") + 1] == "1":
                found[words[words.index("--save-dir") + 1].split("/wikitext-103/")[1]] = words
    arguments = {name: training(words) for name, words in found.items()}
    for name, args in arguments.items():
        xpos = name.startswith("xpos-gpt2_medium/")
        assert args.arch.endswith("_gpt2_medium" if xpos else "_base") and args.task == "language_modeling"
        assert (args.decoder_layers, args.decoder_embed_dim, args.decoder_attention_heads) == (
            (24, 1024, 16) if xpos else (12, 768, 12)
        )
        assert args.optimizer == "adam" and args.max_update == 50_000 and args.clip_norm == (2.0 if xpos else 1.0)
        assert (args.fp16, args.bf16) == (xpos, not xpos)
        assert args.batch_size * args.update_freq[0] == (512 if xpos else 32)
        if xpos:
            assert (args.adam_betas, args.adam_eps, args.weight_decay) == ("(0.9, 0.98)", 1e-6, 0.01)
            assert args.lr_scheduler == "polynomial_decay" and float(args.total_num_update) == 50_000
            assert args.lr == [3e-4] and args.warmup_updates == 20_000 and args.tokens_per_sample == 1024
        else:
            assert (args.adam_betas, args.adam_eps, args.weight_decay) == ("(0.9, 0.999)", 1e-8, 0.0)
            assert args.lr == [6e-4] and args.lr_scheduler == "cosine" and args.warmup_updates == 500
            assert args.dropout == 0 and args.attention_dropout == 0
    sandwich = {name.split("/")[1]: args for name, args in arguments.items() if name.startswith("sandwich-base/")}
    assert {args.tokens_per_sample for args in sandwich.values()} == {128, 512, 1024, 2048}
    assert sandwich["alibi-shift-3"].alibi_shift == -3 and sandwich["alibi-same0"].alibi_same_exponent == 0
    assert sandwich["window120"].attention_pattern == "window:120"
    assert sandwich["alibi-shift6-2048"].tokens_per_sample == 2048
    xpos = {name.split("/")[1]: args for name, args in arguments.items() if name.startswith("xpos-gpt2_medium/")}
    assert xpos["xpos-no-rotation"].xpos_rotation == "off" and xpos["xpos-scalar"].xpos_decay == "scalar"


def test_patterns_and_lengths_shrink_with_the_training_length(dry):
    (words,) = [
        words for words in dry("lex-table5", SCALE="small") if words[1:2] == ["extrapolate"] and "window" in str(words)
    ]
    args = own(words)
    assert (args.patterns, args.lengths, args.names) == (["window:256"], [512, 2048], ["xpos"])
    windows = [
        training(words).attention_pattern
        for words in dry("sandwich-table1", SCALE="small")
        if "fairseq-train" in words and "--attention-pattern" in words
    ]
    assert windows == [f"window:{size}" for size in (10, 20, 25, 30, 40, 80)]
    blockwise = [own(words) for words in dry("all", SCALE="small", PAPER="xpos") if words[1:2] == ["extrapolate"]]
    assert all(args.patterns == ["full", "window:256", "blockwise:256"] for args in blockwise)
    # Of a system with a limit no more is asked for.
    assert [(args.names, max(args.lengths)) for args in blockwise if args.names == ["learned"]] == [(["learned"], 256)]
    trainings = [training(words) for words in dry("all", SCALE="small") if "fairseq-train" in words]
    (fire,) = [args for args in trainings if args.position_encoding == "fire"]
    (deberta,) = [args for args in trainings if args.position_encoding == "deberta"]
    assert (fire.fire_length, deberta.deberta_span, deberta.deberta_max_distance) == (32, 64, 128)


def test_the_papers_seeds_and_those_that_are_asked_for(dry):
    args = [own(words) for words in dry("sandwich-table3", SCALE="paper") if words[1:2] == ["extrapolate"]]
    assert [Counter(one.names) for one in args] == [
        dict.fromkeys([row["system"] for row in rows(LM, "sandwich-table3")], 5)
    ]
    assert args[0].segments_by_seed and args[0].segments == 1000 and args[0].baseline == "sandwich"
    args = [own(words) for words in dry("sandwich-table3", SCALE="smoke", SEEDS="7") if words[1:2] == ["extrapolate"]]
    assert all("/seed7/" in path for path in args[0].path) and not args[0].segments_by_seed


def test_other_texts_take_the_place_of_the_corpus_s_own(dry, tmp_path):
    for name in ("pg22", "qm sum"):
        (tmp_path / name).mkdir()
    printed = dry(
        "lex-table2", "--text", f"pg22={tmp_path / 'pg22'}", "--text", f"qmsum={tmp_path / 'qm sum'}", SCALE="paper"
    )
    measured = [own(words) for words in printed if words[1:2] == ["extrapolate"]]
    assert {(args.data, args.json) for args in measured} == {
        (f"texts/{name}/binary", f"results/cells/lex-table2-{name}.json") for name in ("pg22", "qmsum")
    }
    table = next(words for words in printed if "examples.lm.length_table" in words)
    assert [table[place + 1] for place, word in enumerate(table) if word == "--cells"] == ["pg22", "qmsum"]


@pytest.mark.parametrize(("gpus", "machines", "batch"), [(1, 1, 8), (16, 1, 8), (8, 4, 8), (64, 2, 4), (8, 1, 16)])
def test_any_number_of_gpus_keeps_the_batch(gpus, machines, batch, lm_script):
    variables = {"GPUS": gpus, "NNODES": machines, "NODE_RANK": 0, "MASTER_ADDR": "first.example", "DRY_RUN": 1}
    if batch != 8:
        variables["BATCH"] = batch
    printed = commands(lm_script("train.sh", "xpos", "gpt2_medium", SCALE="paper", **variables).stdout)
    args = training(printed[-1])
    assert args.batch_size * args.update_freq[0] * gpus * machines == 512
    assert args.batch_size == batch and args.distributed_world_size == gpus * machines
    assert (printed[-1][0] == "torchrun") == (gpus * machines > 1)


def test_the_settings_of_fairseq_for_wikitext_103(lm_script):
    variables = {"SCALE": "paper", "CORPUS": "wikitext-103-words", "GPUS": 8, "DRY_RUN": 1}
    args = training(commands(lm_script("train.sh", "alibi", "wiki103", **variables).stdout)[-1])
    assert args.criterion == "adaptive_loss" and args.adaptive_input and args.tokens_per_sample == 3072
    assert args.batch_size * args.update_freq[0] * 8 == 24 and args.optimizer == "nag" and args.lr == [1.0]


BAD = [
    ("train.sh", ("snoopy", "tiny"), {}, "encoding snoopy is not one of adaptive-t5, alibi"),
    ("train.sh", ("xpos",), {}, "give ENCODING, and tiny"),
    ("train.sh", ("xpos", "huge"), {}, "size huge is not one of tiny"),
    ("train.sh", ("xpos", "base"), {}, "SCALE=small trains size tiny"),
    ("train.sh", ("xpos", "tiny"), {}, "no data in "),
    ("train.sh", ("xpos", "tiny"), {"PAPER": "posnet"}, "PAPER=posnet is not one of xpos, sandwich, adaptive"),
    ("train.sh", ("xpos", "tiny"), {"PAPER": "adaptive"}, "PAPER=adaptive is for SCALE=paper"),
    ("train.sh", ("xpos", "tiny"), {"GPUS": "2", "DRY_RUN": "1"}, "SCALE=small trains in one process"),
    ("train.sh", ("xpos", "tiny"), {"SEED": "x"}, "SEED x is not a whole number above 0"),
    ("train.sh", ("xpos", "tiny"), {"NAME": "a b", "DRY_RUN": "1"}, "NAME a b is not a valid name"),
    ("train.sh", ("xpos", "base"), {"SCALE": "paper", "GPUS": "3", "DRY_RUN": "1"}, "does not divide the 32 samples"),
    ("train.sh", ("xpos", "base"), {"SCALE": "paper", "BATCH": "5", "DRY_RUN": "1"}, "does not divide the 32 samples"),
    ("train.sh", ("xpos", "base"), {"SCALE": "paper", "BATCH": "0", "DRY_RUN": "1"}, "BATCH 0 is not a whole number"),
    ("train.sh", ("xpos", "base"), {"SCALE": "paper", "NNODES": "2", "DRY_RUN": "1"}, "NNODES=2 needs MASTER_ADDR"),
    ("evaluate.sh", ("xpos",), {}, "give xpos, sandwich or adaptive, and names of systems"),
    ("evaluate.sh", ("posnet", "xpos"), {}, "posnet is not one of xpos, sandwich, adaptive"),
    ("evaluate.sh", ("xpos", "xpos"), {}, "no text in "),
    ("evaluate.sh", ("xpos", "xpos"), {"TOKENS": "many"}, "TOKENS many is not a whole number"),
    ("evaluate.sh", ("xpos", "xpos"), {"DEVICE": "tpu"}, "DEVICE=tpu is not one of cpu, cuda"),
    ("evaluate.sh", ("xpos", "xpos"), {"TEXT": "a b"}, "TEXT a b is not a valid name"),
    ("analyse.sh", ("field", "xpos", "xpos"), {"DRY_RUN": "1"}, "field is not one of resolution, receptive-field"),
    ("analyse.sh", (), {}, "give resolution or receptive-field"),
    ("reproduce.sh", (), {}, "give the name of a table or figure"),
    ("reproduce.sh", ("lex-table1",), {}, "lex-table1 is not one of lex-figure1, lex-figure2"),
    ("reproduce.sh", ("lex-table2", "--only", "t5"), {}, "--only t5 is not a system of lex-table2; "),
    ("reproduce.sh", ("lex-table2", "--onlly", "t5"), {}, "option --onlly is not one of"),
    ("reproduce.sh", ("lex-table2", "--text", "pg22"), {}, "give NAME=DIR with a folder"),
    ("reproduce.sh", ("lex-table2", "--text", "test=."), {}, "--text test is reserved"),
    ("reproduce.sh", ("lex-table2", "--data", "/nowhere"), {}, "--data /nowhere is not a folder"),
    ("reproduce.sh", ("lex-figure2", "--only", "xpos"), {}, "lex-figure2 needs no text and no system"),
    ("reproduce.sh", ("lex-table2",), {"PAPER": "sandwich"}, "but lex-table2 has the settings of xpos"),
    ("reproduce.sh", ("all",), {"PAPER": "adaptive"}, "PAPER=adaptive is not one of xpos, sandwich"),
    ("reproduce.sh", ("all",), {"TOKENS": "all"}, "leave TOKENS=all out"),
    ("reproduce.sh", ("lex-table2",), {"TOKENS": "1000"}, "TOKENS=1000 is not a multiple of the longest length, 2048"),
    ("reproduce.sh", ("lex-table2",), {"SEEDS": "1 two"}, "SEEDS two is not a whole number"),
    ("reproduce.sh", ("lex-table2",), {"JOBS": "0"}, "JOBS 0 is not a whole number"),
]


@pytest.mark.parametrize(("script", "arguments", "variables", "message"), BAD)
def test_what_cannot_work_is_refused_in_one_line(script, arguments, variables, message, lm_script, tmp_path):
    variables = {"SCALE": "small", "WORK": tmp_path / "work", **variables}
    result = lm_script(script, *arguments, **variables)
    assert result.returncode == 2 and not result.stdout, result.stdout
    assert result.stderr.count("\n") == 1 and message in result.stderr, result.stderr
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("script", ["prepare.sh", "train.sh", "evaluate.sh", "analyse.sh", "reproduce.sh"])
def test_help(script, lm_script):
    result = lm_script(script, "-h")
    assert result.returncode == 0 and f"  {script} " in result.stdout and not result.stderr
