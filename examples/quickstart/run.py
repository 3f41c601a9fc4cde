"""Train, translate and score a small model for each positional encoding; print one table.

All files go to --output. Run the same command again to resume: finished steps are skipped, and a changed option repeats
the steps that depend on it.
"""

import argparse
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from examples.common import multi30k
from examples.common.command_line import end_as_interrupted, print_end
from examples.common.commands import Command, CommandFailed
from examples.common.engine import perform
from examples.common.files import ROOT, cksum
from examples.common.locks import Lock
from examples.common.step import Step, mark
from examples.common.training import KEEP_MEMORY, Processes, Training, settings_of
from examples.common.translation import FAST, MULTI30K, Preparation, Small, generate_command, train_command
from examples.quickstart import report
from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.errors import InputError

PRESETS = {
    "grammar": Small(
        subwords=1000,
        layers=2,
        width=128,
        feed_forward=256,
        heads=4,
        max_tokens=2048,
        training="--lr 5e-3 --warmup-updates 400 --clip-norm 1.0 --num-workers 0",
        epochs=8,
    ),
    "multi30k": MULTI30K,
}
BEAM = 5
ENCODINGS = {
    "grammar": ["none", "sinusoidal", "posnet-embed"],
    "multi30k": ["none", "sinusoidal", "learned", "posnet-embed"],
}
BASELINE = "sinusoidal"
#: Options of encodings. The grammar's sentences have at most 50 subwords, whatever the seed.
OPTIONS = {"grammar": {"posnet-embed": ["--posnet-max-positions", "64"]}, "multi30k": {}}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--corpus",
        choices=sorted(PRESETS),
        default="grammar",
        help="sentences from a grammar, or the Multi30k captions (default: grammar)",
    )
    parser.add_argument("--pair", choices=["en-de", "en-fr"], default="en-de", help="languages (en-fr: multi30k only)")
    parser.add_argument("--data", metavar="DIR", help="folder with Multi30k's .gz files (default: download them)")
    parser.add_argument(
        "--url",
        default=multi30k.URL,
        help="where Multi30k is downloaded from without --data (default: %(default)s)",
    )
    parser.add_argument(
        "--encodings", metavar="NAMES", help="positional encodings, separated by commas (default: by corpus)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the grammar and of training (default: 1)")
    parser.add_argument("--max-epoch", type=int, metavar="N", help="epochs of training (default: by corpus)")
    parser.add_argument(
        "--output", metavar="DIR", help="folder for all files (default: work/quickstart-CORPUS-PAIR in the repository)"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="systems that train in parallel and share the cores (default: all, but one per core if there are more "
        "than two per core)",
    )
    return parser.parse_args(argv)


def checked(args):
    """Set the defaults that depend on other options; raise InputError for options that cannot work."""
    if args.encodings is None:
        args.encodings = ENCODINGS[args.corpus]
    else:
        args.encodings = [name.strip() for name in args.encodings.split(",")]
    for name in args.encodings:
        encoding_class(name)
    if len(set(args.encodings)) != len(args.encodings):
        raise InputError(f"--encodings {','.join(args.encodings)} names an encoding twice; name each once")
    for option in ("jobs", "max_epoch"):
        value = getattr(args, option)
        if value is not None and value < 1:
            raise InputError(f"--{option.replace('_', '-')} {value} is below 1; give 1 or more")
    if args.seed < 1:
        raise InputError(f"--seed {args.seed} is below 1; give 1 or more")
    if args.corpus == "grammar":
        if args.pair != "en-de":
            raise InputError(f"--corpus grammar has no {args.pair}, only en-de; give --corpus multi30k")
        if args.data is not None:
            raise InputError(f"--data {args.data} is for --corpus multi30k; the grammar generates its own text")
    args.source, args.target = args.pair.split("-")
    if args.data is not None:
        multi30k.check_folder(args.data, args.pair)
        args.data = Path(args.data).absolute()
    args.output = Path(args.output or ROOT / "work" / f"quickstart-{args.corpus}-{args.pair}").resolve()
    args.cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    args.names = sorted(args.encodings, key=lambda name: name != BASELINE)
    if args.output.exists() and not args.output.is_dir():
        raise InputError(f"--output {args.output} is not a folder; give another name")
    return args


def plan(args, threads):
    """The steps from text to scores."""
    output, preset, pair = args.output, PRESETS[args.corpus], args.pair
    raw, prepared = output / "raw", output / "prepared"
    preparation = Preparation(pair, raw, prepared, prepared / "binary", args.cores, preset.subwords)
    more = ["--seed", args.seed] if args.corpus == "grammar" else ["--url", args.url]
    steps = [preparation.small_text(args.corpus, args.data, more), *preparation.steps()]
    environment = {"OMP_NUM_THREADS": str(threads), **KEEP_MEMORY}
    for name in args.encodings:
        steps.append(training(args, name, preparation.binary, environment))
        steps.append(translation(args, name, preparation.binary, environment))
    return [*steps, scoring(args)]


def training(args, name, binary, environment):
    """The training run of one system, with paths relative to the output folder."""
    preset, home = PRESETS[args.corpus], Path(name) / "training"
    model = [*preset.model(f"transformer_{name.replace('-', '_')}"), *OPTIONS[args.corpus].get(name, ())]
    batch = ["--max-tokens", str(preset.max_tokens)]
    schedule = [*preset.schedule(args.max_epoch), "--seed", str(args.seed)]
    argv = train_command(
        ["fairseq-train"],
        binary.relative_to(args.output),
        args.pair,
        model,
        batch,
        schedule,
        home / "checkpoints",
        ["--no-epoch-checkpoints"],
        FAST,
    )
    argv += ["--log-file", home / "train.log"]

    def fingerprint():
        files = sorted(path for path in binary.iterdir() if path.suffix in (".bin", ".txt"))
        return settings_of([*model, *batch, *schedule], files)

    folder = args.output / home
    return Training(name, folder, argv, fingerprint, Processes(), (binary,), environment, args.output, replace=True)


def translation(args, name, binary, environment):
    """The translation of the test set by one system."""
    checkpoints, title = args.output / name / "training" / "checkpoints", f"translate the test set: {name}"
    best, folder = checkpoints / "checkpoint_best.pt", args.output / name / "test"
    options = ["--gen-subset", "test", "--beam", str(BEAM), "--max-tokens", "8000", "--no-progress-bar"]
    paths = [path.relative_to(args.output) for path in (binary, best)]
    argv = generate_command(paths[0], args.pair, paths[1], options)
    commands = [Command(["mkdir", "-p", folder]), Command(argv, args.output, folder / "generate.log")]
    at, outputs = mark(folder / "steps", title), (folder / "generate.log",)
    return Step(title, commands, at, (checkpoints,), outputs, lambda: cksum(best), folder, environment)


def scoring(args):
    """The step that scores the systems against the baseline, or against the first system if the baseline is missing."""
    logs = [args.output / name / "test" / "generate.log" for name in args.names]
    scores = args.output / "scores.json"
    argv = ["fairseq-posenc", "score", "--ref", args.output / "raw" / f"test.{args.target}", "--json", scores]
    for name, log in zip(args.names, logs):
        argv += ["--hyp", log, "--names", name]
    command = Command(argv, messages=args.output / "score.log")

    def fingerprint():
        return cksum(*logs)

    return Step("scores", [command], mark(args.output / "steps", "scores"), tuple(logs), (scores,), fingerprint)


def side_by_side(systems, cores):
    """How many systems train at once.

    All of them, if they are few: they end together, however many they are, and leave no core idle at the end.
    """
    return systems if systems <= 2 * cores else cores


def run(args):
    """Run all steps, write the results and print the table."""
    started = time.monotonic()
    systems = len(args.encodings)
    jobs = min(args.jobs or side_by_side(systems, args.cores), systems)
    # Processes that all use all cores are many times slower than processes that share them.
    steps = plan(args, max(1, args.cores // jobs))
    with Lock(args.output):
        perform(steps, "quickstart", jobs, quiet=True)
        kept = ("corpus", "pair", "source", "target", "seed", "encodings", "max_epoch", "jobs")
        options = {**{name: getattr(args, name) for name in kept}, "preset": asdict(PRESETS[args.corpus])}
        commands = {
            step.folder.parent.name: [str(word) for word in step.argv()] for step in steps if isinstance(step, Training)
        }
        generations = {
            step.outputs[0].parent.parent.name: [str(word) for word in step.commands[1].argv]
            for step in steps
            if step.title.startswith("translate")
        }
        record = report.collect(options, args.output, commands, generations)
        record["seconds"] = round(time.monotonic() - started, 1)
        report.write(record, args.output)
    print(f"\n{report.as_plain(record)}\n\n{record['seconds'] / 60:.1f} minutes; all of it: {args.output}")


def main(argv=None):
    """Command line; returns the exit status."""
    try:
        run(checked(parse(argv)))
    except InputError as error:
        return print_end("quickstart", error, 2)
    except CommandFailed as error:
        return print_end("quickstart", error, error.status)
    except KeyboardInterrupt:
        return print_end("quickstart", "interrupted; run the same command again to continue", 130)
    return 0


if __name__ == "__main__":
    end_as_interrupted()
    sys.exit(main())
