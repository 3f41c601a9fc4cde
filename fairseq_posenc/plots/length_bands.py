"""BLEU in bands of source lengths, by encoding, positions and training text: heat maps of tables of examples/wmt14."""

from fairseq_posenc.plots.heat_maps import heat_maps
from fairseq_posenc.plots.length_band_rows import (  # noqa: F401 (every kind needs them)
    COLUMNS,
    REQUIRED,
    column_of,
    rows_of_bands,
)
from fairseq_posenc.plots.style import styled
from fairseq_posenc.tables import groups


def rows(record):
    """Return a row for each system and band; see length_band_rows.py."""
    return rows_of_bands(record)


@styled
def draw(results):
    """Return a figure: a row of heat maps per result, one for each band, with encodings down.

    Colours are relative to the best system of a map. results: {label: rows}.
    """
    everything = [row for rows in results.values() for row in rows]
    names, columns = list(groups(everything, "encoding")), list(dict.fromkeys(map(column_of, everything)))
    drawn = {
        label: {title_of(band[0]): {(row["encoding"], column_of(row)): row["bleu"] for row in band} for band in bands}
        for label, bands in ((label, groups(rows, "band").values()) for label, rows in results.items())
    }
    return heat_maps(drawn, names, columns, 1, "BLEU in % of the best")


def title_of(row):
    """The title of a row's band, such as ``joined, 1-30``."""
    if row["band"] == "single":
        return "one sentence"
    lower, upper = row["from"], row["to"]
    return f"joined, over {lower - 1}" if upper is None else f"joined, {lower}-{upper}"
