"""All scores of several files of translations, as one record and as a text table."""

from fairseq_posenc.errors import InputError
from fairseq_posenc.scoring import metrics, tokenized_bleu
from fairseq_posenc.scoring.significance import (
    LEVELS,
    SAMPLES,
    SEED,
    check_bootstrap,
    check_levels,
    mark,
    paired_bootstrap,
)
from fairseq_posenc.scoring.systems import notes_on, read_references, read_systems
from fairseq_posenc.tables import aligned, bootstrap_marks, shown


def score_files(
    hypothesis_paths,
    reference_path=None,
    names=None,
    tokenized=False,
    eps_smoothing=False,
    samples=SAMPLES,
    seed=SEED,
    levels=LEVELS,
):
    """Return the scores of files of translations as a dict ready for JSON.

    ``systems``: for each file ``name``, ``path``, ``bleu``, ``chrf++`` and ``tokenized_bleu`` (0 to 100; the latter is
    None if the file has no tokenised text); ``signatures``: of these scores; ``significance``: None for one system,
    else ``p_values`` and ``marks`` (see ``significance.mark``) of all other systems compared with the first;
    ``notes``: warnings, one line each.

    Raises InputError if a file cannot be read, the files do not match, or an option is out of range.
    """
    check_bootstrap(samples, seed)
    check_levels(levels)
    systems = read_systems(hypothesis_paths, names)
    if tokenized and all(system.generated for system in systems):
        raise InputError("--tokenized is for plain text, but every --hyp is fairseq-generate output; leave it out")
    references = read_references(reference_path, systems)
    notes = notes_on(systems, references, from_systems=reference_path is None)
    scorers = {
        "bleu": metrics.bleu_metric(references),
        "chrf++": metrics.chrf_metric(references, eps_smoothing=eps_smoothing),
    }
    signatures = {name: metrics.signature(metric) for name, metric in scorers.items()}
    scored = []
    for system in systems:
        row = {"name": system.name, "path": system.path}
        row.update((name, metrics.score(metric, system.hypotheses)) for name, metric in scorers.items())
        row["tokenized_bleu"] = None
        pairs = _tokenized_pairs(system, references, tokenized, notes)
        if pairs is not None:
            metric = tokenized_bleu.tokenized_bleu_metric(pairs[1])
            row["tokenized_bleu"] = tokenized_bleu.tokenized_bleu(metric, pairs[0])
            signatures["tokenized_bleu"] = tokenized_bleu.tokenized_signature(metric)
        scored.append(row)
    significance = None
    if len(systems) > 1:
        p_values = paired_bootstrap([(s.name, s.hypotheses) for s in systems], scorers, samples, seed)
        significance = {
            "baseline": systems[0].name,
            "samples": samples,
            "seed": seed,
            "p_values": p_values,
            "levels": list(levels),
            "marks": _marks(scored, p_values, levels),
        }
    return {
        "references": str(systems[0].path if reference_path is None else reference_path),
        "references_are": "T- lines" if reference_path is None else "plain text",
        "lines": len(references),
        "systems": scored,
        "signatures": signatures,
        "significance": significance,
        "notes": notes,
    }


def _marks(rows, p_values, levels):
    baseline = rows[0]
    return {
        row["name"]: {
            metric: mark(row[metric] - baseline[metric], p, levels) for metric, p in p_values[row["name"]].items()
        }
        for row in rows[1:]
    }


def _tokenized_pairs(system, references, tokenized, notes):
    """Return tokenised (hypotheses, references), or None if the system has none, with a note that says why."""
    if system.generated is None:
        return (system.hypotheses, references) if tokenized else None
    try:
        return system.generated.tokenized_pairs()
    except InputError as reason:
        notes.append(f"no tokenised BLEU for {system.path}: {reason}")
        return None


def text_table(result):
    """Return the scores as a text table with the signatures below."""
    columns = [("BLEU", "bleu"), ("chrF++", "chrf++")]
    if any(row["tokenized_bleu"] is not None for row in result["systems"]):
        columns.append(("tokenised BLEU", "tokenized_bleu"))
    significance = result["significance"]
    # All marks are padded to one width, so that the scores stay aligned.
    mark_width = 2 if significance else 0
    header = ["system"] + [title + " " * mark_width for title, _ in columns]
    if significance:
        header += ["p (BLEU)", "p (chrF++)"]
    rows = [header]
    for row in result["systems"]:
        marks = significance["marks"].get(row["name"], {}) if significance else {}
        cells = [row["name"]]
        for _, key in columns:
            cells.append(shown(row[key], "{:.2f}", mark=marks.get(key, "").ljust(mark_width)))
        if significance:
            p_values = significance["p_values"].get(row["name"])
            cells += [f"{p_values[key]:.4f}" for key in ("bleu", "chrf++")] if p_values else ["baseline", "baseline"]
        rows.append(cells)
    lines = [*aligned(rows), ""]
    lines.append(f"{result['lines']} sentences, references: {result['references']} ({result['references_are']})")
    lines += [f"{title}: {result['signatures'][key]}" for title, key in columns]
    if significance:
        lines.append(bootstrap_marks(significance["baseline"], significance["levels"]))
        lines.append(f"p: from {significance['samples']} bootstrap samples, seed {significance['seed']}")
    return "\n".join(lines)
