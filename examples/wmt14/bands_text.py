"""A table by bands of source lengths: for the terminal, as Markdown, and as TSV."""

from fairseq_posenc.plots.length_band_rows import rows_of_bands
from fairseq_posenc.results import result_tsv
from fairseq_posenc.scoring.lengths import bucket_name
from fairseq_posenc.tables import aligned, bootstrap_marks, markdown, shown


def title(band):
    """The name of a band in the header."""
    if band["name"] == "single":
        return "one sentence"
    return f"joined, {bucket_name(band)}"


def cells(record):
    """Rows of the table as lists of text, the header first."""
    titles = [text for band in record["bands"] for text in (title(band), "ratio")]
    rows = [["system", "positions", "training text", *titles]]
    for system in record["systems"]:
        row = [system["name"], system["positions"], system["text"]]
        for band in record["bands"]:
            score = system["bands"][band["name"]]
            row.append(shown(score["bleu"], "{:.2f}", score["bleu_deviation"], score["bleu_mark"]))
            row.append(shown(score["length_ratio"], "{:.2f}", score["length_ratio_deviation"]))
        rows.append(row)
    return rows


def notes(record):
    """Lines below the table: what was measured and how."""
    sentences = ", ".join(f"{title(band)}: {band['sentences']:,}" for band in record["bands"])
    longest = ", ".join(f"{text}: {length}" for text, length in record["longest_trained"].items())
    seeds, several = ", ".join(map(str, record["seeds"])), len(record["seeds"]) > 1
    lines = [
        f"BLEU ({record['signatures']['bleu']}) and brevity ratio: words of the translations / words of the references",
        f"lengths of the source in subwords; test sentences: {sentences}",
        f"longest source sentence in training: {longest}; scale: {record['scale']}",
        f"seeds: {seeds}" + ("; mean ± standard deviation" if several else ""),
    ]
    if record["bootstrap"]:
        marks = bootstrap_marks(record["bootstrap"]["baseline"], record["bootstrap"]["levels"])
        lines.append(marks + (" for every seed" if several else ""))
    return lines


def as_plain(record):
    header = f"{record['table']}, {record['pair']}, {record['size']}"
    return "\n".join([header, *aligned(cells(record), left=3), "", *notes(record)])


def as_markdown(record):
    header = f"{record['pair']}, {record['size']}:"
    listed = [f"- {note}" for note in notes(record)]
    return "\n".join([header, "", *markdown(cells(record), left=3), "", *listed]) + "\n"


def as_tsv(record):
    """One line per system and band, numbers not rounded."""
    return result_tsv("length-bands", rows_of_bands(record))
