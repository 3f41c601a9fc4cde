"""The tables of measured numbers in the README of this folder, and the tables of costs in docs/performance.md."""

import statistics
from functools import partial

from examples.common.tables import read_committed
from examples.common.variables import read_table
from examples.wmt14.settings import HERE
from fairseq_posenc.plots.length_band_rows import column_of, rows_of_bands
from fairseq_posenc.tables import groups, shown

read = partial(read_committed, HERE / "results")


def cost():
    """Times and memory relative to stock fairseq, all with fairseq's criterion and optimizer."""
    training, generation = (read(f"cost-{measure}-base-cpu")[measure] for measure in ("training", "generation"))
    processes = read("commands-train-stock-flags-base-cpu")["commands"]["train-stock-flags"]["systems"]
    rows = [["system", "training step", "generation", "`fairseq-train`, time per word", "its peak memory"]]
    rows.append(["stock fairseq, sinusoidal", "1", "1", "1", "1"])
    for name in [row["encoding"] for row in read_table(HERE / "rows" / "all.tsv")]:
        ratios = [measured[name]["ratio_to_stock"] for measured in (training, generation)]
        ratios.append(1 / processes[name]["ratio_to_stock"])
        ratios.append(processes[name]["peak_bytes"] / processes["stock"]["peak_bytes"])
        rows.append([f"`{name}`", *(f"{ratio:.2f}" for ratio in ratios)])
    return rows


def training_commands():
    """Whole fairseq-train processes, relative to stock fairseq."""
    systems = read("commands-train-base-cpu")["commands"]["train"]["systems"]
    stock = systems["stock"]
    rows = [["system", "words/s", "relative to stock", "lowest and highest", "peak memory, relative"]]
    rows.append(["stock fairseq, `adam`", f"{statistics.median(stock['rates']):.0f}", "1", "", "1"])
    for name, system in systems.items():
        if name != "stock":
            speed, ratios = statistics.median(system["rates"]), system["ratios"]
            numbers = [f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f} to {max(ratios):.2f}"]
            rows.append([f"`{name}`", f"{speed:.0f}", *numbers, f"{system['peak_bytes'] / stock['peak_bytes']:.2f}"])
    return rows


def score(system, metric):
    """Mean, deviation and mark of a system's metric."""
    mark = system[f"{metric}_mark"]
    return shown(system[metric], "{:.2f}", system[f"{metric}_deviation"], f" {mark}" if mark else "")


def table1(pair):
    """The systems of the paper's Table 1, next to the paper's BLEU."""
    rows = [["system", "BLEU", "chrF++", "parameters", "the paper's BLEU (WMT14)"]]
    for system in read(f"small/table1-{pair}")["pairs"][pair]["systems"]:
        paper, mark = system["paper"]["bleu"], system["paper"]["bleu_mark"]
        rows.append(
            [
                f"`{system['name']}`",
                score(system, "bleu"),
                score(system, "chrf++"),
                f"{system['parameters'] / 1e6:.2f} M",
                shown(paper, "{}", mark=f" {mark}" if mark else ""),
            ]
        )
    return rows


def others():
    """The encodings that are not in Table 1."""
    record = read("small/all")
    known = {system["name"] for system in read("small/table1-en-de")["pairs"]["en-de"]["systems"]}
    again = {name for part in record["made_again"] for name in part["systems"]}
    rows = [["system", "BLEU", "chrF++", "words/s"]]
    for system in record["pairs"]["en-de"]["systems"]:
        name = system["name"]
        if name not in known:
            # Systems that were trained again while other work was running have no valid speed.
            speed = "" if name in again else f"{system['words_per_second']:,}"
            rows.append([f"`{name}`", score(system, "bleu"), score(system, "chrf++"), speed])
    return rows


def posnet():
    """PosNet, placed, shared and initialised in other ways."""
    options = {row["name"]: row["options"] for row in read_table(HERE / "rows" / "posnet.tsv")}
    rows = [["system", "options", "BLEU", "chrF++", "parameters"]]
    for system in read("small/posnet")["pairs"]["en-de"]["systems"]:
        given = options[system["name"]]
        name, text = f"`{system['encoding']}`", f"`{given}`" if given else ""
        size = f"{system['parameters'] / 1e6:.2f} M"
        rows.append([name, text, score(system, "bleu"), score(system, "chrf++"), size])
    return rows


def swap():
    """Encodings that take the place of another one in a trained model."""
    started = {row["name"]: row["from"] for row in read_table(HERE / "rows" / "swap.tsv")}
    rows = [["system", "starts from", "updates", "BLEU", "chrF++"]]
    for system in read("small/swap")["pairs"]["en-de"]["systems"]:
        first, _, _ = (started[system["name"]] or "").partition(":")
        updates = f"{system['trainings'][0]['updates']:,}"
        texts = [f"`{system['encoding']}`", f"trained `{first}`" if first else "", updates]
        rows.append([*texts, score(system, "bleu"), score(system, "chrf++")])
    return rows


def positions(pair, band, scale):
    """BLEU in a band of lengths: a line per encoding, a column per kind of positions and training text."""
    rows = [row for row in rows_of_bands(read(f"{scale}/positions-bands-{pair}")) if row["band"] == band]
    columns = list(dict.fromkeys(map(column_of, rows)))
    cells = {(row["encoding"], column_of(row)): f"{row['bleu']:.2f} {row['bleu_mark'] or ''}".strip() for row in rows}
    encodings = groups(rows, "encoding")
    return [
        ["encoding", *columns],
        *([f"`{name}`", *(cells.get((name, column), "") for column in columns)] for name in encodings),
    ]


#: Tables of positions: the pair and the folder of the results. Each has a table per band of lengths.
POSITIONS = {
    "positions": ("en-de", "small"),
    "positions-en-fr": ("en-fr", "small"),
    "positions-newstest": ("en-fr", "small-newstest"),
    "positions-newstest-en-de": ("en-de", "small-newstest"),
}
COSTS = {"cost": cost, "training-commands": training_commands}
TABLES = {
    "table1-en-de": lambda: table1("en-de"),
    "table1-en-fr": lambda: table1("en-fr"),
    "other-encodings": others,
    "posnet": posnet,
    "swap": swap,
    **{
        f"{name}-{band.replace(' ', '-')}": partial(positions, pair, band, scale)
        for name, (pair, scale) in POSITIONS.items()
        for band in ("single", "beyond single", "beyond joined")
    },
}
