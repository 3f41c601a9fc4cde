"""A table of translation systems: for the terminal, as Markdown, and as TSV."""

from fairseq_posenc.results import result_tsv
from fairseq_posenc.tables import aligned, bootstrap_marks, markdown, shown

#: (title, key in the record of a system, format). A column that is empty for all systems is left out.
COLUMNS = (
    ("BLEU", "bleu", "{:.2f}"),
    ("chrF++", "chrf++", "{:.2f}"),
    ("tokenised BLEU", "tokenized_bleu", "{:.2f}"),
    ("BLEU, sacreBLEU's sentences", "official_bleu", "{:.2f}"),
    ("parameters", "parameters", "{:,}"),
    ("words/s", "words_per_second", "{:,.0f}"),
    ("minutes", "training_minutes", "{:.1f}"),
)
PAPER_COLUMNS = (
    ("paper: BLEU", "bleu"),
    ("paper: chrF++", "chrf++"),
    ("paper: parameters (M)", "parameters_millions"),
)


def cells(pair):
    """Rows of the table of one language pair as lists of text, the header first."""
    systems = pair["systems"]
    ours = [column for column in COLUMNS if any(column[1] in system for system in systems)]
    papers = [
        column for column in PAPER_COLUMNS if any(system["paper"] and system["paper"][column[1]] for system in systems)
    ]
    rows = [["system", *(column[0] for column in (*ours, *papers))]]
    for system in systems:
        row = [system["name"]]
        for _, key, form in ours:
            deviation = system.get(f"{key}_deviation") if "2f" in form else None
            row.append(shown(system.get(key), form, deviation, system.get(f"{key}_mark", "")))
        paper = system["paper"] or {}
        row += [shown(paper.get(key), "{}", mark=paper.get(f"{key}_mark") or "") for _, key in papers]
        rows.append(row)
    return rows


def notes(record, pair):
    """Lines below the table of one pair: what was measured and how."""
    lines = [f"{kind}: {signature}" for kind, signature in pair["signatures"].items()]
    lines.append(f"{record['set']} set: {pair['sentences']:,} sentences; scale: {record['scale']}")
    if pair["official_sentences"]:
        lines.append(f"sacreBLEU's sentences: the {pair['official_sentences']:,} in its test set wmt14")
    seeds = ", ".join(map(str, record["seeds"]))
    lines.append(f"seeds: {seeds}" + ("; mean ± standard deviation" if len(record["seeds"]) > 1 else ""))
    if pair["baseline"]:
        marks = bootstrap_marks(pair["baseline"], record["levels"])
        lines.append(marks + (" for every seed" if len(record["seeds"]) > 1 else ""))
    lines.append("words/s: target subwords per second of training; minutes: training time without validation")
    if any(system["paper"] for system in pair["systems"]):
        lines.append("paper: numbers of Zhang et al. (2023) on WMT14; BLEU is tokenised, the marks are theirs")
    return lines


def as_plain(record):
    """For the terminal: one aligned table per language pair."""
    parts = []
    for name, pair in record["pairs"].items():
        title = f"{record['table']}, {name}, {record['size']}"
        parts.append("\n".join([title, *aligned(cells(pair)), "", *notes(record, pair)]))
    return "\n\n".join(parts)


def as_markdown(record):
    parts = []
    for name, pair in record["pairs"].items():
        listed = [f"- {note}" for note in notes(record, pair)]
        parts.append("\n".join([f"{name}, {record['size']}:", "", *markdown(cells(pair)), "", *listed]))
    return "\n\n".join(parts) + "\n"


def as_tsv(record):
    """One line per system and pair, numbers not rounded; the paper's numbers have columns of their own."""
    return result_tsv(
        "table",
        [
            {
                "pair": name,
                "name": system["name"],
                "options": system["options"],
                **{key: system.get(key) for _, key, _ in COLUMNS},
                **{key: system.get(key) for key in ("bleu_deviation", "chrf++_deviation")},
                **{key: system[key] or None for key in ("bleu_mark", "chrf++_mark")},
                **{f"paper_{key}": (system["paper"] or {}).get(key) for _, key in PAPER_COLUMNS},
            }
            for name, pair in record["pairs"].items()
            for system in pair["systems"]
        ],
    )
