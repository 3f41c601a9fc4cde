"""The results of a quickstart: scores by ``fairseq-posenc score``, facts from fairseq's logs, one table."""

import json
import re
from pathlib import Path
from statistics import median

import corpora
import pipeline
import steps

from fairseq_posenc.provenance import provenance, write_json
from fairseq_posenc.scoring.generate_output import parse_generate_output

SAMPLES = 6
COLUMNS = ("system", "BLEU", "chrF++", "parameters", "words/s", "minutes", "p (BLEU)", "p (chrF++)")


def score(reference, hypotheses, folder):
    """Score {system: fairseq-generate output} with ``fairseq-posenc score``; the first system is the baseline."""
    command = ["fairseq-posenc", "score", "--ref", str(reference), "--json", str(folder / "scores.json")]
    for name, path in hypotheses.items():
        command += ["--hyp", str(path), "--name", name]
    steps.run(command, folder / "score.log")


def training_facts(log):
    """Parameters, epochs, target words per second (median of the epochs) and minutes from a fairseq-train log."""
    trained = pipeline.epochs(log, "train")
    valid = pipeline.epochs(log, "valid")
    parameters = re.search(r"num\. shared model params: ([\d,]+)", log.read_text(encoding="utf-8", errors="replace"))
    best = min(valid, key=lambda record: float(record["valid_loss"]))
    return {
        "parameters": int(parameters.group(1).replace(",", "")),
        "epochs": len(trained),
        "updates": int(trained[-1]["train_num_updates"]),
        "words_per_second": round(median(float(record["train_wps"]) for record in trained)),
        "training_minutes": round(sum(float(record["train_train_wall"]) for record in trained) / 60, 2),
        "best_epoch": best["epoch"],
        "best_valid_loss": float(best["valid_loss"]),
        "valid_losses": [float(record["valid_loss"]) for record in valid],
    }


def collect(options, raw, prepared, systems, scores):
    """The record that results.json holds; its paths are relative to the output folder.

    ``systems`` is {name: (Training, generation stamp, generation folder)}.
    """
    significance = scores["significance"]
    by_name = {row["name"]: row for row in scores["systems"]}
    rows = []
    for name, (training, generation, _) in systems.items():
        p_values = (significance or {"p_values": {}})["p_values"].get(name, {})
        stamp = steps.finished(training.folder, training.configuration)
        rows.append(
            {
                "name": name,
                "bleu": by_name[name]["bleu"],
                "chrf++": by_name[name]["chrf++"],
                "p_bleu": p_values.get("bleu"),
                "p_chrf++": p_values.get("chrf++"),
                **training_facts(training.log),
                "generation_seconds": generation["seconds"],
                "train_command": stamp["command"],
                "generate_command": generation["command"],
            }
        )
    return {
        **provenance(),
        "options": options,
        "data": {
            "sha256": {path.name: corpora.sha256(path) for path in sorted(raw.iterdir()) if path.suffix != ".json"},
            "sentences": {
                split: (raw / f"{split}.{options['source']}").read_bytes().count(b"\n") for split in pipeline.SPLITS
            },
            "prepare_seconds": prepared["seconds"],
        },
        "signatures": {kind: scores["signatures"][kind] for kind in ("bleu", "chrf++")},
        "baseline": significance["baseline"] if significance else None,
        "systems": rows,
        "samples": samples(raw, options, {name: folder for name, (_, _, folder) in systems.items()}),
    }


def samples(raw, options, folders):
    """A few test sentences, evenly spread, with every system's translation."""
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
    """The table as rows of text, its header first."""
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


def text_table(record):
    """The table for the terminal, with the signatures and what p means."""
    rows = cells(record)
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
        for row in rows
    ]
    lines += ["", *(f"{kind}: {signature}" for kind, signature in record["signatures"].items())]
    lines.append("words/s: target words per second of training, median of the epochs; minutes: of training")
    if record["baseline"]:
        lines.append(f"p: paired bootstrap against {record['baseline']}")
    return "\n".join(lines)


def markdown(record):
    """The table and the samples as Markdown."""
    header, *rows = cells(record)
    lines = ["| " + " | ".join(row) + " |" for row in [header, ["---"] + ["---:"] * (len(header) - 1), *rows]]
    lines += ["", *(f"{kind}: `{signature}`" for kind, signature in record["signatures"].items())]
    for sample in record["samples"]:
        lines += ["", f"Test sentence {sample['line']}:", ""]
        lines += [f"- {kind}: {text}" for kind, text in sample.items() if kind != "line"]
    return "\n".join(lines) + "\n"


def write(record, folder):
    """Write results.json and results.md."""
    write_json(folder / "results.json", record)
    (folder / "results.md").write_text(markdown(record), encoding="utf-8")


def read_scores(folder):
    """What ``score`` wrote."""
    return json.loads((Path(folder) / "scores.json").read_text(encoding="utf-8"))
