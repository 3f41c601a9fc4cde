"""Write a table of systems by the length of the source: BLEU, brevity ratio and significance in bands of lengths.

Reads the translations of joined test sentences (generate.sh with SET=joined), and writes OUTPUT.json, OUTPUT.tsv and
OUTPUT.md. Lengths are in subwords. The bands are: single sentences; joined ones that are not longer than the longest
single sentence in training; longer ones; and those that are longer than the longest joined sentence in training, too.

BLEU is compared with that of the baseline with the same seed. With several seeds, the table has means, and the mark of
the least significant seed: ++ or + better, -- or - worse by paired bootstrap.
"""

from examples.common.command_line import run_main
from examples.common.tables import add_row_arguments, chosen_by, table_parser, trained, write_table
from examples.wmt14 import bands_text
from examples.wmt14.settings import text_of
from examples.wmt14.table import weakest
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import new_result
from fairseq_posenc.scoring import metrics
from fairseq_posenc.scoring.lengths import bootstrap_of, part_scores
from fairseq_posenc.scoring.systems import read_references, read_systems
from fairseq_posenc.scoring.text import read_lines
from fairseq_posenc.tables import mean_and_deviation

AVERAGED = ("bleu", "chrf++", "length_ratio")


def lengths_in(path):
    """Yield the number of subwords of each line; a training text may be larger than the memory."""
    try:
        with open(path, "rb") as lines:
            yield from (len(line.split()) for line in lines)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; run joined.sh first") from None


def translations(args, names, seed):
    """({system: its translations}, references) of joined sentences, with one seed."""
    folder, target = args.home / args.pair, args.pair.split("-")[1]
    texts, references = {}, []
    for name in names:
        path = folder / args.size / name / f"seed{seed}" / "generate-joined.log"
        systems = read_systems([str(path)], [name])
        references = read_references(folder / "joined" / "raw" / f"test.{target}", systems)
        texts[name] = systems[0].hypotheses
    return texts, references


def bands_of(lengths, singles, longest):
    """[(band, indices)] without those that no sentence is in; a band: ``name``, ``from``, ``to``, ``sentences``.

    Args:
        lengths: of the test sentences.
        singles: how many of them, at the beginning, are single sentences.
        longest: {training text: length of its longest sentence}, the single sentences first.
    """
    limits = [0, *longest.values(), None]
    found = [({"name": "single", "from": 0, "to": None}, range(singles))]
    for name, lower, upper in zip(("joined", *(f"beyond {text}" for text in longest)), limits, limits[1:]):
        inside = range(lower + 1, 1 + (max(lengths) if upper is None else upper))
        indices = [index for index in range(singles, len(lengths)) if lengths[index] in inside]
        found.append(({"name": name, "from": lower + 1, "to": upper}, indices))
    return [({**band, "sentences": len(indices)}, indices) for band, indices in found if indices]


def summary(runs):
    """Means, deviations and the weakest mark of the scores of all seeds, and the scores."""
    row = {}
    for key in AVERAGED:
        row[key], row[f"{key}_deviation"] = mean_and_deviation([run[key] for run in runs])
    return {**row, "bleu_mark": weakest([run["mark"] for run in runs if "mark" in run]), "runs": runs}


def positions_in(command):
    """The value of --positions in a command."""
    words = command.split()
    return words[words.index("--positions") + 1] if "--positions" in words else "index"


def collect(args):
    """The record of the table."""
    folder, source, rows = args.home / args.pair, args.pair.split("-")[0], chosen_by(args)
    names = sorted((row["name"] for row in rows), key=lambda name: name != args.baseline)
    longest = {text: max(lengths_in(folder / f"{prefix}.{source}")) for text, prefix in args.training}
    singles = len(read_lines(folder / "raw" / f"test.{source}"))
    bands = bands_of(list(lengths_in(folder / "joined" / f"bpe.test.{source}")), singles, longest)
    scores = {name: {band["name"]: [] for band, _ in bands} for name in names}
    for seed in args.seeds:
        texts, references = translations(args, names, seed)
        for band, indices in bands:
            part = part_scores(texts, references, indices)
            for name in names:
                run = {"seed": seed, **part["scores"][name], **part["significance"].get(name, {})}
                scores[name][band["name"]].append(run)
    record = {
        "table": args.output.name,
        "scale": args.home.name,
        "pair": args.pair,
        "size": args.size,
        "seeds": args.seeds,
        "signatures": {
            "bleu": metrics.signature(metrics.bleu_metric(references)),
            "chrf++": metrics.signature(metrics.chrf_metric(references)),
        },
        "bootstrap": bootstrap_of(names),
        "longest_trained": longest,
        "bands": [band for band, _ in bands],
        "systems": [system(args, folder, row, scores[row["name"]]) for row in rows],
    }
    return {**new_result("length-bands", record), **({"command": args.command} if args.command else {})}


def system(args, folder, row, scores):
    """The record of a system; ``scores``: {band: of each seed}."""
    runs = folder / args.size / row["name"]
    trainings = [trained(runs / f"seed{seed}", seed, args.home, args.home.name) for seed in args.seeds]
    return {
        **{key: row[key] for key in ("name", "encoding", "options")},
        "positions": positions_in(trainings[0]["command"]),
        "text": text_of(row),
        "bands": {name: summary(found) for name, found in scores.items()},
        "trainings": trainings,
    }


def parse(argv):
    parser = table_parser(__doc__, home="folder of the scale: $WORK/$SCALE")
    add_row_arguments(parser)
    parser.add_argument("--pair", required=True)
    parser.add_argument("--size", choices=("base", "big"), required=True)
    parser.add_argument("--baseline", required=True, help="name of a row; if it is not chosen, the first one is")
    parser.add_argument(
        "--training",
        nargs=2,
        action="append",
        required=True,
        metavar=("TEXT", "PREFIX"),
        help="a training text and its subwords, PREFIX.SOURCE in the folder of the pair; single sentences first",
    )
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    write_table(args.output, lambda: collect(args), bands_text)


if __name__ == "__main__":
    run_main(main)
