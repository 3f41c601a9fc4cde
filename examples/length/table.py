"""Write the accuracies of systems by task and length: OUTPUT.json, OUTPUT.tsv, OUTPUT.md and OUTPUT-lengths.tsv.

Reads the examples of each task, and free.log and oracle.log of each trained system.
"""

from examples.common.command_line import run_main
from examples.common.files import write_texts
from examples.common.tables import add_row_arguments, chosen_by, table_parser, trained, write_table
from examples.common.variables import read_table
from examples.length import table_text
from examples.length.accuracy import MEASURES, by_length, means, system_scores
from examples.length.settings import DECODER_ONLY, FORMS
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import new_result, read_result
from fairseq_posenc.tables import mean_and_deviation

#: What the record keeps of the summary of a training run.
KEPT = ("seed", "parameters", "updates", "training_minutes", "best_valid_loss")


def rounded(number):
    """Six digits, because hundreds of numbers would otherwise have sixteen."""
    return None if number is None else round(number, 4)


def over_seeds(found):
    """The mean of each measure, and its deviation, of one dictionary per seed."""
    row = {"seeds": len(found)}
    for measure in MEASURES:
        mean, deviation = mean_and_deviation([one[measure] for one in found])
        row |= {measure: rounded(mean), f"{measure}_deviation": rounded(deviation)}
    return row


def of_system(name, task, args, bands):
    """The entries of one system and task: one per band, one per length, and its training runs."""
    folders = [args.home / task / args.form / name / f"seed{seed}" for seed in args.seeds]
    scored = [system_scores(folder, args.home / task / "raw", args.form == DECODER_ONLY) for folder in folders]
    summary = [
        {
            "task": task,
            "name": name,
            **band,
            **over_seeds([means([one for n, one in seed if band["from"] <= n <= band["to"]]) for seed in scored]),
        }
        for band in bands
    ]
    by_seed = [by_length(seed) for seed in scored]
    lengths = list(by_seed[0])
    averaged = [over_seeds([seed[length] for seed in by_seed]) for length in lengths]
    curve = {"task": task, "name": name, "length": lengths}
    curve |= {measure: [row[measure] for row in averaged] for measure in MEASURES}
    runs = []
    for folder, seed in zip(folders, args.seeds):
        run = trained(folder, seed, args.home, args.home.name)
        runs.append({"task": task, "name": name, **{key: run[key] for key in KEPT}, "command": run["command"]})
    return summary, curve, runs


def answers_of(name, task, args):
    """The files with the answers of one system to the examples of a task, of all seeds."""
    folder = args.home / task / args.form / name
    return [folder / f"seed{seed}" / f"{kind}.log" for seed in args.seeds for kind in ("free", "oracle")]


def collect(args):
    """The record of the table; systems that have not been run on a task are missing there."""
    rows = chosen_by(args)
    tasks, summary, curves, trainings = [], [], [], []
    for task in args.tasks:
        path = args.home / task / "raw" / "counts.json"
        counts = read_result(path, ("corpus",), "a table takes", "prepare the examples first")
        tasks.append({key: counts[key] for key in ("task", "length_of", "trained", "examples", "bands")})
        bands = [band for band in counts["bands"] if band["examples"]]
        for row in rows:
            if not all(path.is_file() for path in answers_of(row["name"], task, args)):
                print(f"{row['name']} on {task} is left out: it has not been run with all seeds")
                continue
            found = of_system(row["name"], task, args, bands)
            summary += found[0]
            curves.append(found[1])
            # One command tells what all seeds have in common.
            trainings += [
                {**run, "command": run["command"] if not place else None} for place, run in enumerate(found[2])
            ]
    if not summary:
        raise InputError(f"no system has been run on {', '.join(args.tasks)}; run reproduce.sh first")
    paper = read_table(args.paper) if args.paper else []
    record = {
        "table": args.output.name,
        "scale": args.home.name,
        "form": args.form,
        "seeds": args.seeds,
        "tasks": tasks,
        "summary": summary,
        "curves": curves,
        "paper": [{**row, "exact": 100 * float(row["exact"])} for row in paper if row["task"] in args.tasks],
        "trainings": trainings,
    }
    return {**new_result("length-tasks", record), **({"command": args.command} if args.command else {})}


def parse(argv):
    parser = table_parser(__doc__, home="folder of the scale: $WORK/$SCALE")
    parser.add_argument("--form", choices=FORMS, required=True, help="form of the models")
    add_row_arguments(parser)
    parser.add_argument("--tasks", nargs="+", required=True, help="names of tasks")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)

    def collected():
        record = collect(args)
        name = args.output.with_name(f"{args.output.name}-lengths")
        write_texts(name, tsv=table_text.curves_tsv(record))
        return record

    write_table(args.output, collected, table_text)


if __name__ == "__main__":
    run_main(main)
