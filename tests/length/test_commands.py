"""DRY_RUN=1: complete commands, as fairseq's own parsers take them; and what the script refuses before it starts."""

import pytest

from examples.length.settings import DECODER_ONLY, ENCODER_DECODER, SCALES, lengths_of
from examples.length.tasks import TASKS, find
from fairseq_posenc.encodings import encoding_names
from tests.support.recipes import LENGTH, commands, parse, rows, run_script, table

RESULTS = {line["name"]: line for line in table(LENGTH / "results.tsv")}


def dry(*arguments, work, **variables):
    """The commands of a dry run."""
    result = run_script(LENGTH / "reproduce.sh", *arguments, DRY_RUN=1, WORK=work, **variables)
    assert result.returncode == 0, result.stderr
    assert not work.exists()
    return commands(result.stdout)


def of(printed, program):
    return [parse(words) for words in printed if words[0] == program]


def test_the_rows_are_all_encodings():
    assert {row["encoding"] for row in rows(LENGTH, "all")} == set(encoding_names())
    for result in RESULTS.values():
        assert {row["encoding"] for row in rows(LENGTH, result["rows"])} <= set(encoding_names())
        assert all(find(task) for task in result["tasks"].split(","))
    for line in table(LENGTH / "paper" / "kazemnejad.tsv"):
        assert line["name"] in {row["name"] for row in rows(LENGTH, "kazemnejad")} and line["task"] in TASKS


@pytest.mark.parametrize("what", RESULTS)
def test_every_system_is_trained_once_per_seed_and_answers_twice(what, tmp_path):
    printed = dry(what, work=tmp_path / "my work", SCALE="small")  # a space, as folders have
    result = RESULTS[what]
    systems = len(result["tasks"].split(",")) * len(rows(LENGTH, result["rows"])) * int(result["seeds"])
    trainings = [words for words in printed if words[0] == "fairseq-train"]
    answers = [words for words in printed if words[0] in ("fairseq-generate", "fairseq-interactive")]
    assert len({words[words.index("--save-dir") + 1] for words in trainings}) == len(trainings) == systems
    assert len({words[words.index(">") + 1] for words in answers}) == len(answers) == 2 * systems


def test_encoder_decoders_are_trained_and_tested_by_stock_commands(tmp_path):
    tasks, systems = ("copy", "missing-duplicate", "scan"), ("none", "posnet-embed", "fire", "deberta")
    chosen = ("--tasks", ",".join(tasks), "--only", ",".join(systems))
    printed = dry("encoder-decoder", *chosen, work=tmp_path / "my work", SCALE="small", SEEDS="1 2")
    trainings, generations = of(printed, "fairseq-train"), of(printed, "fairseq-generate")
    wanted = [(seed, task, name) for seed in (1, 2) for task in tasks for name in systems]
    assert [(args.seed, args.data.split("/")[-3], args.position_encoding) for args in trainings] == wanted
    for number, args in enumerate(generations):
        training = trainings[number // 2]
        assert args.path == f"{training.save_dir}/checkpoint_last.pt" and args.data == training.data
        assert args.beam == 1 and args.gen_subset == "test" and args.max_len_a == 0
        task = TASKS[args.data.split("/")[-3]]
        longest = lengths_of(task, SCALES["small"], ENCODER_DECODER).longest
        assert args.max_len_b > task.answer(longest) and args.min_len == (1, args.max_len_b)[number % 2]
    for args in trainings:
        assert (args.task, args.criterion, args.optimizer) == ("translation", "sliced_cross_entropy", "fused_adam")
        learning = ([1e-3], 2000) if args.data.split("/")[-3] == "missing-duplicate" else ([4e-3], 1000)
        assert (args.lr, args.max_update) == learning
        assert args.max_update == int(args.total_num_update) and args.dropout == 0
        assert args.ignore_prefix_until is None
    # The longest training sequences: the inputs, or the actions of SCAN, and their end.
    longest = {"copy": 21, "missing-duplicate": 21, "scan": 23}
    for args in trainings:
        trained = longest[args.data.split("/")[-3]]
        if args.position_encoding == "posnet-embed":
            assert args.posnet_max_positions == trained
        elif args.position_encoding == "fire":
            assert args.fire_length == trained / 4  # as the authors' 512 with 2,048 tokens
        elif args.position_encoding == "deberta":
            assert (args.deberta_spacing, args.deberta_span) == ("plain", trained)


def test_language_models_go_on_from_their_prompts(tmp_path):
    chosen = ("--tasks", "copy-twice,scan,passkey", "--only", "rope-quarter")
    printed = dry("kazemnejad", *chosen, work=tmp_path / "work", SCALE="small", SEEDS="1")
    trainings, answers = of(printed, "fairseq-train"), of(printed, "fairseq-interactive")
    assert len(trainings) == 3 and {args.rope_fraction for args in trainings} == {0.25}
    for number, args in enumerate(answers):
        training = trainings[number // 2]
        assert args.task == training.task == "language_modeling" and training.sample_break_mode == "eos"
        assert training.ignore_prefix_until == "=" and training.max_update == 3 * 1000
        assert args.input.endswith("/raw/test.prompt") and args.path.startswith(training.save_dir)
        # In one buffer, in which fairseq numbers the prompts; and with room for the longest answer.
        assert args.buffer_size >= 10_000 and args.beam == 1
        task = TASKS[training.data.split("/")[-3]]
        longest = lengths_of(task, SCALES["small"], DECODER_ONLY).longest
        needed = task.prompt(longest) + 1 + task.answer(longest)
        assert needed < args.max_len_b < training.tokens_per_sample
        assert args.min_len == (1, args.max_len_b)[number % 2]


def test_updates_are_those_of_every_run(tmp_path):
    chosen = ("--tasks", "copy,even-pairs", "--only", "rope")
    for form in ("encoder-decoder", "decoder-only"):
        printed = dry(form, *chosen, work=tmp_path / "work", SCALE="small", SEEDS="1", UPDATES="5000")
        for args in of(printed, "fairseq-train"):
            assert args.max_update == int(args.total_num_update) == 5000 and args.warmup_updates == 500
            assert args.save_interval_updates == 1250
        (making,) = [words for words in printed if "examples.length.table" in words]
        command = "SCALE=small SEEDS=1 JOBS=1 UPDATES=5000 examples/length/reproduce.sh"
        assert making[making.index("--command") + 1].startswith(f"{command} {form} --tasks")


def test_smoke_runs_few_systems(tmp_path):
    trainings = [words for words in dry(work=tmp_path / "work", SCALE="smoke") if words[0] == "fairseq-train"]
    assert len(trainings) == 6
    chosen = dry("--tasks", "scan,first", "--only", "rope", work=tmp_path / "work", SCALE="smoke")
    assert [words[1].split("/")[-3] for words in chosen if words[0] == "fairseq-train"] == ["scan", "first"]


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (("lengths",), {}, "lengths is not one of encoder-decoder, decoder-only"),
        (("--tasks", "copy,revers"), {}, "task revers is unknown; did you mean reverse?"),
        (("--tasks", "copy,copy"), {}, "--tasks copy,copy names a task twice"),
        (("--only", "snoopy"), {}, "--only snoopy is not a system of encoder-decoder; "),
        (("--task", "copy"), {}, "option --task is not one of --tasks, --only"),
        (("encoder-decoder", "copy"), {}, "option copy is not one of"),
        ((), {"SCALE": "paper"}, "SCALE=paper is not one of small, smoke"),
        ((), {"SEEDS": "0"}, "SEEDS 0 is not a whole number above 0"),
        ((), {"UPDATES": "0.5"}, "UPDATES 0.5 is not a whole number above 0"),
        ((), {"JOBS": "x"}, "JOBS x is not a whole number above 0"),
        ((), {"GPUS": "2"}, "SCALE=smoke trains in one process"),
    ],
)
def test_the_script_refuses_in_one_line(arguments, variables, message, tmp_path):
    variables = {"SCALE": "smoke", "WORK": tmp_path / "work", **variables}
    result = run_script(LENGTH / "reproduce.sh", *arguments, **variables)
    assert result.returncode == 2 and not result.stdout
    assert result.stderr.count("\n") == 1 and message in result.stderr
    assert not (tmp_path / "work" / "smoke" / "copy").exists()


def test_help():
    result = run_script(LENGTH / "reproduce.sh", "-h")
    assert result.returncode == 0 and "  reproduce.sh " in result.stdout and not result.stderr
    assert all(name in result.stdout for name in (*TASKS, *RESULTS))
