"""The results of the quickstart: scores from ``fairseq-posenc score``, numbers from fairseq's logs, one table."""

import hashlib

from examples.common.training_log import records, training_summary
from examples.common.translation import SPLITS
from fairseq_posenc.provenance import write_json
from fairseq_posenc.results import new_result, read_result
from fairseq_posenc.scoring.generate_output import parse_generate_output
from fairseq_posenc.tables import aligned, markdown

SAMPLES = 6
COLUMNS = ("system", "BLEU", "chrF++", "parameters", "words/s", "minutes", "p (BLEU)", "p (chrF++)")


def log_summary(log):
    """The summary of a training run, with ``best_epoch``, and with ``valid_losses`` per epoch."""
    found = training_summary(log)
    del found["best_update"]
    valid = records(log.read_text(encoding="utf-8", errors="replace"), "valid")
    best = min(valid, key=lambda record: float(record["valid_loss"]))
    return {**found, "best_epoch": best["epoch"], "valid_losses": [loss for _, loss in found["valid_losses"]]}


def collect(options, output, runs, generations):
    """The content of results.json; its paths are relative to the output folder.

    Args:
        options: options of the command line, as a dictionary.
        output: Path of the output folder.
        runs, generations: {name: the command as a list of arguments}.
    """
    raw, scores = output / "raw", read_result(output / "scores.json", ("scores",), "a quickstart takes", "run again")
    significance = scores["significance"]
    by_name = {row["name"]: row for row in scores["systems"]}
    rows = []
    for name in options["encodings"]:
        p_values = (significance or {"p_values": {}})["p_values"].get(name, {})
        rows.append(
            {
                "name": name,
                "bleu": by_name[name]["bleu"],
                "chrf++": by_name[name]["chrf++"],
                "p_bleu": p_values.get("bleu"),
                "p_chrf++": p_values.get("chrf++"),
                **log_summary(output / name / "training" / "train.log"),
                "train_command": runs[name],
                "generate_command": generations[name],
            }
        )
    texts = [raw / f"{split}.{options[side]}" for split in SPLITS for side in ("source", "target")]
    fields = {
        "options": options,
        "data": {
            "sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(texts)},
            "sentences": {split: (raw / f"{split}.{options['source']}").read_bytes().count(b"\n") for split in SPLITS},
        },
        "signatures": {kind: scores["signatures"][kind] for kind in ("bleu", "chrf++")},
        "baseline": significance["baseline"] if significance else None,
        "systems": rows,
        "samples": samples(raw, options, {name: output / name / "test" for name in options["encodings"]}),
    }
    return new_result("quickstart", fields)


def samples(raw, options, folders):
    """Some test sentences, evenly spread, with the translations of all systems."""
    texts = {
        "source": (raw / f"test.{options['source']}").read_text(encoding="utf-8").split("\n")[:-1],
        "reference": (raw / f"test.{options['target']}").read_text(encoding="utf-8").split("\n")[:-1],
    }
    for name, folder in folders.items():
        output = folder / "generate.log"
        texts[name] = parse_generate_output(output.read_text(encoding="utf-8").split("\n"), output).best_text
    count = len(texts["source"])
    chosen = sorted({index * count // SAMPLES for index in range(SAMPLES)})
    return [{"line": index + 1, **{kind: lines[index] for kind, lines in texts.items()}} for index in chosen]


def cells(record):
    """The table as rows of text, the header first."""
    rows = [COLUMNS]
    for system in record["systems"]:
        ps = [system["p_bleu"], system["p_chrf++"]]
        absent = "baseline" if system["name"] == record["baseline"] else "-"
        rows.append(
            (
                system["name"],
                f"{system['bleu']:.1f}",
                f"{system['chrf++']:.1f}",
                f"{system['parameters']:,}",
                f"{system['words_per_second']:,}",
                f"{system['training_minutes']:.1f}",
                *(absent if p is None else f"{p:.4f}" for p in ps),
            )
        )
    return rows


def as_plain(record):
    """The table for the terminal, with signatures and notes."""
    lines = aligned(cells(record))
    lines += ["", *(f"{kind}: {signature}" for kind, signature in record["signatures"].items())]
    lines.append("words/s: target words per second of training, median of the epochs; minutes: of training")
    if record["baseline"]:
        lines.append(f"p: paired bootstrap against {record['baseline']}")
    return "\n".join(lines)


def as_markdown(record):
    """The table and the samples as Markdown."""
    lines = markdown(cells(record))
    lines += ["", *(f"{kind}: `{signature}`" for kind, signature in record["signatures"].items())]
    for sample in record["samples"]:
        lines += ["", f"Test sentence {sample['line']}:", ""]
        lines += [f"- {kind}: {text}" for kind, text in sample.items() if kind != "line"]
    return "\n".join(lines) + "\n"


def write(record, folder):
    """Write results.json and results.md."""
    write_json(folder / "results.json", record)
    (folder / "results.md").write_text(as_markdown(record), encoding="utf-8")
