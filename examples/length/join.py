"""Join results of one table, of other systems, tasks or seeds, such as those of several machines.

Writes OUTPUT.json, OUTPUT.tsv, OUTPUT.md and OUTPUT-lengths.tsv. Tasks and systems stand in the order in which the
results name them.
"""

import math

from examples.common.command_line import run_main
from examples.common.files import write_texts
from examples.common.joining import check_new, check_same, join_parser, origins
from examples.common.tables import write_table
from examples.length import table_text
from examples.length.accuracy import MEASURES
from examples.length.table import rounded
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import new_result, read_result
from fairseq_posenc.tables import groups

#: What results must have in common.
SAME = ("table", "scale", "form")


def mean_of(numbers, seeds):
    """The mean over all seeds, of the means over so many seeds each."""
    return rounded(math.fsum(number * count for number, count in zip(numbers, seeds)) / sum(seeds))


def deviation_of(numbers, deviations, seeds):
    """The sample standard deviation over all seeds, of means and deviations (None for one seed); None for one seed."""
    if sum(seeds) == 1:
        return None
    mean = math.fsum(number * count for number, count in zip(numbers, seeds)) / sum(seeds)
    squares = math.fsum(
        (count - 1) * (deviation or 0) ** 2 + count * (number - mean) ** 2
        for number, deviation, count in zip(numbers, deviations, seeds)
    )
    return rounded(math.sqrt(squares / (sum(seeds) - 1)))


def one_band(rows):
    """The entry of one task, system and band, of entries of different seeds."""
    seeds = [row["seeds"] for row in rows]
    joined = {**rows[0], "seeds": sum(seeds)}
    for measure in MEASURES:
        numbers = [row[measure] for row in rows]
        joined[measure] = mean_of(numbers, seeds)
        joined[f"{measure}_deviation"] = deviation_of(numbers, [row[f"{measure}_deviation"] for row in rows], seeds)
    return joined


def one_curve(curves, seeds):
    """The curves of one task and system, of curves of different seeds."""
    columns = {measure: zip(*(curve[measure] for curve in curves)) for measure in MEASURES}
    return {
        **curves[0],
        **{measure: [mean_of(numbers, seeds) for numbers in column] for measure, column in columns.items()},
    }


def in_order(records, key):
    """The values of a field of all trained systems, each once, in their order."""
    return list(dict.fromkeys(run[key] for record in records for run in record["trainings"]))


def check(paths, records):
    """Raises InputError where results do not fit together."""
    check_same(paths, records, SAME)
    of_task, of_system = {}, {}
    for path, record in zip(paths, records):
        for task in record["tasks"]:
            first, known = of_task.setdefault(task["task"], (path, task))
            if known != task:
                raise InputError(
                    f"{path} and {first} have different examples of {task['task']}; join results that agree"
                )
        for run in record["trainings"]:
            system = f"{run['name']} {run['task']}"
            first, updates = of_system.setdefault(system, (path, run["updates"]))
            if run["updates"] != updates:
                raise InputError(
                    f"{path} has {run['updates']} updates of {system}, but {first} has {updates}; "
                    "join results that agree"
                )
    runs = [[(run["name"], run["task"], f"seed {run['seed']}") for run in record["trainings"]] for record in records]
    check_new(paths, runs)


def join(paths):
    """The joined record.

    Args:
        paths: of results of the same table.

    Raises:
        InputError: a file is no such result, they are of different tables, scales, forms or examples, or two of them
            have the same system with the same seed, or with different numbers of updates.
    """
    records = [
        read_result(path, ("length-tasks",), "can be joined", "make it with examples/length/reproduce.sh")
        for path in paths
    ]
    check(paths, records)
    names, tasks = (in_order(records, key) for key in ("name", "task"))

    def all_of(field):
        """The entries of all records, by task and system in their order."""
        found = [entry for record in records for entry in record[field]]
        return sorted(found, key=lambda entry: (tasks.index(entry["task"]), names.index(entry["name"])))

    summary = groups(all_of("summary"), "task", "name", "band")
    seeds = {(task, name): [row["seeds"] for row in rows] for (task, name, _), rows in summary.items()}
    curves = groups(all_of("curves"), "task", "name")
    runs = groups(all_of("trainings"), "task", "name").values()
    # As in one result, one command tells what all seeds have in common.
    trainings = [
        {**run, "command": None if place else run["command"]}
        for of_system in runs
        for place, run in enumerate(sorted(of_system, key=lambda run: run["seed"]))
    ]
    examples = {task["task"]: task for record in records for task in record["tasks"]}
    paper = {(row["owner"], row["task"], row["name"]): row for record in records for row in record["paper"]}
    fields = {
        **{key: records[0][key] for key in SAME},
        "seeds": sorted({run["seed"] for run in trainings}),
        "tasks": [examples[task] for task in tasks],
        "summary": [one_band(rows) for rows in summary.values()],
        "curves": [one_curve(found, seeds[key]) for key, found in curves.items()],
        "paper": list(paper.values()),
        "trainings": trainings,
        "joined": [part for record in records for part in origins(record)],
    }
    return new_result("length-tasks", fields)


def main(argv=None):
    args = join_parser(__doc__).parse_args(argv)

    def joined():
        record = join(args.results)
        name = args.output.with_name(f"{args.output.name}-lengths")
        write_texts(name, tsv=table_text.curves_tsv(record))
        return record

    write_table(args.output, joined, table_text)


if __name__ == "__main__":
    run_main(main)
