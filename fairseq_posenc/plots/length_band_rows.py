"""Scores of systems in bands of source lengths as rows, without matplotlib, so that the recipes can write TSV."""

COLUMNS = {
    "pair": str,
    "name": str,
    "encoding": str,
    "positions": str,
    "text": str,
    "band": str,
    "from": int,
    "to": int,
    "sentences": int,
    "seeds": int,
    "bleu": float,
    "bleu_deviation": float,
    "bleu_mark": str,
    "chrf++": float,
    "chrf++_deviation": float,
    "length_ratio": float,
    "length_ratio_deviation": float,
}
REQUIRED = ("encoding", "positions", "text", "band", "from", "bleu")


def rows_of_bands(record):
    """One row per system and band; ``to`` is None where a band has no upper limit."""
    return [
        {
            "pair": record["pair"],
            **{key: system[key] for key in ("name", "encoding", "positions", "text")},
            "band": band["name"],
            **{key: band[key] for key in ("from", "to", "sentences")},
            "seeds": len(record["seeds"]),
            **{key: scores[key] for key in COLUMNS if key in scores},
            "bleu_mark": scores["bleu_mark"] or None,
        }
        for system in record["systems"]
        for band in record["bands"]
        for scores in [system["bands"][band["name"]]]
    ]


def column_of(row):
    """The column of a row where encodings are the lines, such as ``random, joined``."""
    return f"{row['positions'].partition(':')[0]}, {row['text']}"
