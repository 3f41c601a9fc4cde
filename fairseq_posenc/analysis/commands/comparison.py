"""Whole commands of stock fairseq and of systems of this package, which take turns in one run."""

import statistics
import sys

from tqdm import tqdm

from fairseq_posenc.analysis.commands.arguments import COMMANDS, checkpoint_training
from fairseq_posenc.analysis.commands.process import CommandFailed, run
from fairseq_posenc.analysis.cost import quartiles
from fairseq_posenc.analysis.timer import turns
from fairseq_posenc.analysis.workload import STOCK


def compare(runs, commands, systems, rounds, save):
    """Measure commands for stock fairseq and every system.

    Each system runs once with a profile, which warms up the machine's caches; then come the measured rounds.

    Args:
        runs: Runs (arguments.py); their data is written here.
        commands: names of COMMANDS.
        save: called after every round with the results so far.

    Returns:
        {command: {"unit", "rounds": how many are finished, "systems": {system: see summary}}}.

    Raises:
        CommandFailed: a command ended with an error.
    """
    runs.write_data()
    names, results = [STOCK, *systems], {}
    with tqdm(total=steps(commands, len(names), rounds), file=sys.stderr) as progress:

        def of_system(name, tool, arguments, **options):
            progress.set_description(f"fairseq-{tool} {name}")
            try:
                done = run(tool, arguments, runs.workload.device, **options)
            except CommandFailed as error:
                raise CommandFailed(f"{name}: {error}") from None
            progress.update()
            return done

        if needs_checkpoints(commands):
            for name in names:
                of_system(name, "train", checkpoint_training(runs, name))
        for command in commands:
            tool, unit = COMMANDS[command].tool, COMMANDS[command].unit
            arguments = {name: COMMANDS[command].arguments(runs, name) for name in names}
            profiles = {name: of_system(name, tool, arguments[name], profile=True).report for name in names}
            found = {name: [] for name in names}
            for number, order in enumerate(turns(names, rounds), start=1):
                for name in order:
                    done = of_system(name, tool, arguments[name])
                    speed = COMMANDS[command].speed(done.output)
                    found[name].append({**speed, "process_seconds": done.seconds, **done.report})
                summaries = summary(found, profiles)
                for name in names:
                    summaries[name]["command"] = runs.shown(tool, arguments[name])
                results[command] = {"unit": unit, "rounds": number, "systems": summaries}
                save(results)
    return results


def needs_checkpoints(commands):
    return any(COMMANDS[command].needs_checkpoints for command in commands)


def steps(commands, systems, rounds):
    """How many processes a comparison starts."""
    return systems * (needs_checkpoints(commands) + len(commands) * (1 + rounds))


def summary(found, profiles):
    """The numbers of all systems from their rounds.

    Args:
        found: {system: [{"rate", "process_seconds", "cpu_seconds", "peak_bytes", "loss" (where there is one)}]}, one
            per round, in the same order for all systems.
        profiles: {system: the result of a Profile}.

    Returns:
        {system: {"rate": units per second, "quartiles", "rates": of each round; "ratio_to_stock", "ratio_quartiles",
        "ratios": of the rates in each round; "process_seconds", "process_ratio_to_stock", "cpu_seconds",
        "peak_bytes", "loss", medians; "profile"; "bound": the rate if matrix products were all}}.
    """
    result = {}
    for name, rounds in found.items():
        columns = {key: [of_round[key] for of_round in rounds] for key in rounds[0]}
        rates, peaks = columns.pop("rate"), columns.pop("peak_bytes")
        ratios = [ours["rate"] / stock["rate"] for ours, stock in zip(rounds, found[STOCK])]
        times = [ours["process_seconds"] / stock["process_seconds"] for ours, stock in zip(rounds, found[STOCK])]
        result[name] = {
            "rate": statistics.median(rates),
            "quartiles": quartiles(rates),
            "rates": rates,
            "ratio_to_stock": statistics.median(ratios),
            "ratio_quartiles": quartiles(ratios),
            "ratios": ratios,
            **{key: statistics.median(values) for key, values in columns.items()},
            "peak_bytes": int(statistics.median(peaks)),
            "process_ratio_to_stock": statistics.median(times),
            "profile": profiles[name],
            "bound": profiles[name]["units"] / profiles[name]["product_seconds"],
        }
    return result
