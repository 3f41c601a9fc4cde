"""Train, translate and score a small model for each positional encoding; print one table.

Text, tokens, training, translations and scores lie under --output. Run the same command again to continue what was
interrupted: finished steps are skipped, and a changed option redoes what depends on it.
"""

import argparse
import os
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

import corpora
import pipeline
import report
import steps

from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
ENCODINGS = {
    "grammar": ["none", "sinusoidal", "posnet-embed"],
    "multi30k": ["none", "sinusoidal", "learned", "posnet-embed"],
}
BASELINE = "sinusoidal"


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--corpus",
        choices=sorted(pipeline.PRESETS),
        default="grammar",
        help="sentences from a grammar, or the Multi30k captions (default: grammar)",
    )
    parser.add_argument("--pair", choices=["en-de", "en-fr"], default="en-de", help="languages (en-fr: multi30k only)")
    parser.add_argument("--data", metavar="DIR", help="folder with Multi30k's .gz files (default: download them)")
    parser.add_argument(
        "--url",
        default=corpora.MULTI30K_URL,
        help="where Multi30k is downloaded from when --data is not given (default: %(default)s)",
    )
    parser.add_argument(
        "--encodings", metavar="NAMES", help="positional encodings, separated by commas (default: by corpus)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the grammar and of the training (default: 1)")
    parser.add_argument("--max-epoch", type=int, metavar="N", help="epochs of training (default: by corpus)")
    parser.add_argument(
        "--output", metavar="DIR", help="folder for everything (default: work/quickstart-CORPUS-PAIR in the repository)"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="systems that train side by side, sharing the cores (default: one a core, 2 at most)",
    )
    return parser.parse_args(argv)


def checked(args):
    """Fill in the defaults that depend on other options; raise InputError for what cannot work."""
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
            raise InputError(f"--data {args.data} is for --corpus multi30k; the grammar makes its own text")
    args.source, args.target = args.pair.split("-")
    if args.data is not None:
        corpora.check_folder(args.data, corpora.multi30k_files(args.source, args.target))
    args.output = Path(args.output or ROOT / "work" / f"quickstart-{args.corpus}-{args.pair}").resolve()
    if args.output.exists() and not args.output.is_dir():
        raise InputError(f"--output {args.output} is not a folder; give another name")
    return args


def text(args):
    """The raw text: step one. Returns its folder."""
    folder = args.output / "raw"
    if args.corpus == "grammar":
        sources = [Path(corpora.__file__).with_name(f"{name}.py") for name in corpora.GRAMMAR_MODULES]
        configuration = {"seed": args.seed, "grammar": [corpora.sha256(path) for path in sources]}
        steps.build(folder, "text from the grammar", configuration, lambda to: corpora.write_grammar(args.seed, to))
        return folder
    names = corpora.multi30k_files(args.source, args.target)
    data = Path(args.data or ROOT / "data" / "multi30k")
    if args.data is None:
        corpora.download(args.url, names, data)
    configuration = {"multi30k": {name: corpora.sha256(data / name) for name in names}}
    steps.build(
        folder,
        "text of Multi30k",
        configuration,
        lambda to: corpora.write_multi30k(data, args.source, args.target, to),
    )
    return folder


def systems(args, raw, preset, cores):
    """Prepare, train, translate. Returns the stamp of the preparation and {name: (Training, stamp, folder)}."""
    source, target = args.source, args.target
    texts = {path.name: corpora.sha256(path) for path in sorted(raw.glob("*.??"))}
    prepared = {"texts": texts, "merges": preset.merges, "pair": args.pair}
    folder = args.output / "prepared"
    title = "Moses tokens, BPE, fairseq-preprocess"
    stamp = steps.build(
        folder, title, prepared, lambda to: pipeline.prepare(raw, to, source, target, preset.merges, cores)
    )
    binary = "prepared/binary"

    jobs = min(args.jobs or min(cores, 2), len(args.encodings))
    trainings = []
    for name in args.encodings:
        checkpoints = f"{name}/training/checkpoints"
        command = pipeline.training_command(
            binary, checkpoints, name, preset, source, target, args.seed, args.max_epoch or preset.epochs
        )
        trainings.append(pipeline.Training(name, args.output, command, {"prepared": prepared, "command": command}))
    # Two processes that both want all cores are many times slower than two that share them.
    threads = max(1, cores // jobs)
    for first in range(0, len(trainings), jobs):
        pipeline.train(trainings[first : first + jobs], threads)

    done = {}
    for training in trainings:
        home = args.output / training.name / "test"
        checkpoint = f"{training.name}/training/checkpoints/checkpoint_best.pt"

        def translate(to, checkpoint=checkpoint):
            return pipeline.generate(args.output, binary, checkpoint, to, source, target, threads)

        configuration = {"training": training.configuration, "beam": pipeline.BEAM}
        record = steps.build(home, f"translate the test set: {training.name}", configuration, translate)
        done[training.name] = (training, record, home)
    return stamp, done


def run(args):
    """All steps; returns nothing, prints the table."""
    started = time.monotonic()
    preset = pipeline.PRESETS[args.corpus]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    args.output.mkdir(parents=True, exist_ok=True)
    raw = text(args)
    prepared, done = systems(args, raw, preset, cores)
    names = sorted(args.encodings, key=lambda name: name != BASELINE)
    print("scores ...", flush=True)
    report.score(raw / f"test.{args.target}", {name: done[name][2] / "generate.log" for name in names}, args.output)
    kept = ("corpus", "pair", "source", "target", "seed", "encodings", "max_epoch", "jobs")
    options = {**{name: getattr(args, name) for name in kept}, "preset": asdict(preset)}
    record = report.collect(options, raw, prepared, done, report.read_scores(args.output))
    record["seconds"] = round(time.monotonic() - started, 1)
    report.write(record, args.output)
    print(f"\n{report.text_table(record)}\n\n{record['seconds'] / 60:.1f} minutes; all of it: {args.output}")


def main(argv=None):
    """Command line; returns the exit status."""
    try:
        run(checked(parse(argv)))
    except InputError as error:
        print(f"quickstart: error: {error}", file=sys.stderr)
        return 2
    except steps.CommandFailed as error:
        print(f"quickstart: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("quickstart: interrupted; the same command continues", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    # Being terminated ends the trainings too, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
