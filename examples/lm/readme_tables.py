"""The tables of measured numbers in the README of this folder."""

from functools import partial

from examples.common.files import ROOT
from examples.common.tables import read_committed
from examples.common.variables import read_table
from examples.lm.length_table_text import in_cell
from examples.lm.settings import HERE
from fairseq_posenc.tables import groups, read_tsv, shown

ROPE_EVALUATED = HERE / "results" / "small" / "rope-evaluated"
read = partial(read_committed, HERE / "results")
H200 = ROOT / "docs" / "h200"
#: Measured with code that is not in the package, as it was no faster.
AS_BEFORE = ("rope", "xpos", "deberta")


def paper(name, text):
    """The paper's numbers in a result: {system: {length: number}} of one of its texts."""
    return {row["system"]: row["values"] for row in read(name)["paper"][text]}


def times(length, training_length):
    """A length relative to the training length: 1/4x, 1x, 2x."""
    return f"{length // training_length}x" if length >= training_length else f"1/{training_length // length}x"


def gpu_training():
    """The time of a training step on a GPU, relative to none, before and with kernels of our own."""
    before, now = (read_committed(H200, name)["training"] for name in ("language-models-before", "language-models"))
    rows = [["system", "before", "now"]]
    for name in now:
        relative = ["", ""]
        for column, measured in enumerate((before, now)):
            if name in measured and (column == 0 or name not in AS_BEFORE):
                relative[column] = f"{measured[name]['seconds'] / measured['none']['seconds']:.2f}"
        rows.append(["stock fairseq, sinusoidal" if name == "stock" else f"`{name}`", *relative])
    return rows


def patterns():
    """How the time of blockwise attention grows with the length, and how much faster it is than full attention."""
    record = read("patterns-time-cpu")
    seconds = {(row["encoding"], row["pattern"], row["length"]): row["seconds"] for row in record["time"]}
    rows = [
        [
            "",
            "time ~ length^x, 1k to 32k tokens",
            "its attention alone",
            "full / blockwise attention at 8,192",
            "of the whole model",
        ]
    ]
    for row in record["growth"]:
        if row["pattern"] != "full":
            name, pattern = row["encoding"], row["pattern"]
            whole = seconds[name, "full", 8192] / seconds[name, pattern, 8192]
            exponents = (f"{row[key]:.2f}" for key in ("exponent", "attention_exponent"))
            rows.append([f"`{name}`", *exponents, f"{row['speedup']['8192']:.1f}", f"{whole:.1f}"])
    return rows


def every_encoding():
    """Perplexity with full attention at all lengths, with windows and blocks at the longest, and the paper's."""
    record = read("small/all")
    trained, of_paper = record["training_length"], paper("small/sandwich-table3", "ArXiv")
    systems = groups(record["texts"]["test"]["rows"], "system")
    names = {row["system"]: row["row"] for row in read_table(HERE / "rows" / "all.tsv")}
    lengths = sorted({int(length) for rows in systems.values() for row in rows for length in row["values"]})
    full = [times(length, trained) for length in lengths]
    last, *compared = full[-1], 512, 2048, 8192
    header = ["system", f"full: {full[0]}", *full[1:], f"window: {last}", f"blockwise: {last}"]
    rows = [[*header, "the Sandwich paper, full: 1x, 4x, 16x"]]
    for name, of_system in systems.items():
        values = {row["pattern"].partition(":")[0]: row["values"] for row in of_system}
        wanted = [("full", length) for length in lengths] + [("window", lengths[-1]), ("blockwise", lengths[-1])]
        numbers = [values[pattern].get(str(length)) for pattern, length in wanted]
        theirs = [of_paper[name][str(length)]["value"] for length in compared] if name in of_paper else []
        cells = ["" if number is None else f"{number['value']:.1f}" for number in numbers]
        rows.append([f"`{names[name]}`", *cells, ", ".join(theirs)])
    return rows


def sandwich_table3():
    """Means over seeds with deviations and marks, and the paper's numbers at three lengths."""
    record, theirs = read("small/sandwich-table3"), paper("small/sandwich-table3", "ArXiv")
    ours = record["texts"]["test"]["rows"]
    lengths = sorted(map(int, ours[0]["values"]))
    compared = [factor * record["paper_training_length"] for factor in (1, 4, 16)]
    titles = [times(length, record["paper_training_length"]) for length in compared]
    header = ["system", *(times(length, record["training_length"]) for length in lengths)]
    rows = [[*header, f"the paper, arXiv: {titles[0]}", *titles[1:]]]
    for row in ours:
        name = row["system"]
        cells = [in_cell(row["values"][str(length)], "{:.1f}") for length in lengths]
        rows.append([f"`{name}`", *cells, *(in_cell(theirs[name][str(length)], "{}") for length in compared)])
    return rows


def receptive_fields():
    """Receptive fields, smallest first."""
    results = [read(f"small/sandwich-figure{number}") for number in (5, 6, 7, 11)]
    fields = {row["system"]: row["values"] for record in results for row in record["texts"]["test"]["rows"]}
    rows = [["system", "receptive field of 512 tokens"]]
    for name, values in sorted(fields.items(), key=lambda item: item[1]["512"]["value"]):
        rows.append([f"`{name}`", f"{values['512']['value']:.0f}"])
    return rows


def windows():
    """Receptive fields of windows, their bounds, and the paper's receptive fields."""
    theirs, compared = paper("small/sandwich-figure4", "ArXiv"), "2048"
    rows = [["window of the paper", "here", "bound", "receptive field of 512 tokens", "the paper's, of 2,048"]]
    for row in read("small/sandwich-figure4")["texts"]["test"]["rows"]:
        window, number = row["system"].removeprefix("window"), row["values"]["512"]
        of_paper = theirs[row["system"]][compared]["value"]
        of_paper = f"{int(of_paper):,}" if of_paper.isdigit() else of_paper
        here = str(int(window) // 4)
        rows.append([window, here, shown(number["bound"], "{}"), f"{number['value']:.0f}", of_paper])
    return rows


def resolution():
    """Attention resolution at one and two times the training length, and the paper's."""
    cells = {(cell["name"], cell["pattern"], cell["length"]): cell for cell in read("small/resolution")["cells"]}
    theirs = {
        (row["name"], row["pattern"].partition(":")[0], row["length"]): row["resolution"]
        for row in read_tsv(HERE / "paper" / "lex-table3.tsv")
    }
    rows = [["system", "1x", "2x", "the xPos paper: 1x", "2x"]]
    for name in ("sinusoidal", "alibi", "rope"):
        rows.append(resolution_row(cells, theirs, name, "full", f"`{name}`"))
    rows.append(resolution_row(cells, theirs, "xpos", "blockwise:128", "`xpos`, blockwise"))
    rows.append(resolution_row(cells, theirs, "xpos", "full", "`xpos`"))
    return rows


def resolution_row(cells, theirs, name, pattern, title):
    ours = [f"{cells[name, pattern, length]['resolution']:.4f}" for length in (128, 256)]
    return [title, *ours, *(theirs[name, pattern.partition(":")[0], length] for length in ("1024", "2048"))]


def lex_table2():
    """Perplexity by length, and the paper's on PG22 from its training length on."""
    record = read("small/lex-table2")
    trained, of_paper = record["training_length"], record["paper_training_length"]
    theirs = paper("small/lex-table2", "PG22")
    ours = record["texts"]["test"]["rows"]
    lengths = sorted(map(int, ours[0]["values"]))
    compared = [length * of_paper // trained for length in lengths if length >= trained]
    titles = [times(length, of_paper) for length in compared]
    rows = [["system", *(times(length, trained) for length in lengths), f"the paper: {titles[0]}", *titles[1:]]]
    for row in ours:
        name, blocks = row["system"], ", blockwise" if row["pattern"].startswith("blockwise") else ""
        cells = [f"{row['values'][str(length)]['value']:.1f}" for length in lengths]
        rows.append([f"`{name}`{blocks}", *cells, *(theirs[name][str(length)]["value"] for length in compared)])
    return rows


def rope_evaluated():
    """Perplexity of one RoPE model with options at evaluation alone, lowest at the longest texts first."""
    records = [read(f"small/rope-evaluated/{path.stem}") for path in ROPE_EVALUATED.glob("*.json")]
    records.sort(key=lambda record: record["summary"][-1]["perplexity"])
    (trained,) = {checkpoint["training_length"] for record in records for checkpoint in record["checkpoints"]}
    rows = [["at evaluation", *(times(number["length"], trained) for number in records[0]["summary"])]]
    for record in records:
        options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in record["overrides"].items())
        numbers = [f"{number['perplexity']:.1f}" for number in record["summary"]]
        rows.append([f"`{options}`" if options else "as trained", *numbers])
    return rows


def dropped():
    """Perplexity by length after RoPE has been dropped."""
    record = read("small/drop")
    ours = record["texts"]["test"]["rows"]
    lengths = sorted(map(int, ours[0]["values"]))
    rows = [["system", *(times(length, record["training_length"]) for length in lengths)]]
    return rows + [[row["row"], *(f"{row['values'][str(x)]['value']:.1f}" for x in lengths)] for row in ours]


GPU = {"gpu-training": gpu_training}
TABLES = {
    "patterns": patterns,
    "every-encoding": every_encoding,
    "sandwich-table3": sandwich_table3,
    "receptive-fields": receptive_fields,
    "windows": windows,
    "resolution": resolution,
    "rope-evaluated": rope_evaluated,
    "drop": dropped,
    "lex-table2": lex_table2,
}
