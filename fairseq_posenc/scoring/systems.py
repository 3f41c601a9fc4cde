"""The translations to be scored together: reading and naming them, and finding their references."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from fairseq_posenc.errors import InputError
from fairseq_posenc.scoring.generate_output import GenerateOutput, is_generate_output, parse_generate_output
from fairseq_posenc.scoring.text import holds_subword_pieces, looks_tokenized, read_lines


@dataclass(frozen=True)
class System:
    """One file of translations; ``generated`` is None for plain text."""

    name: str
    path: str
    hypotheses: list[str]
    generated: Optional[GenerateOutput]


def read_systems(paths, names=None):
    """Read files of translations, plain text or fairseq-generate output, in the order of ``paths``.

    Raises InputError if a file cannot be read, has only blank lines or is given twice, or if names are too few, too
    many or equal.
    """
    repeated = [path for path, count in Counter(paths).items() if count > 1]
    if repeated:
        raise InputError(f"--hyp {repeated[0]} is given twice; give each file once")
    systems = []
    for name, path in zip(system_names(paths, names), paths):
        lines = read_lines(path)
        generated = parse_generate_output(lines, path) if is_generate_output(lines) else None
        hypotheses = generated.best_text if generated else lines
        if not any(line.strip() for line in hypotheses):
            raise InputError(f"{path} has only blank lines; give the translations")
        systems.append(System(name, str(path), hypotheses, generated))
    return systems


def system_names(paths, names=None):
    """Return one distinct name per file: ``names``, or by default the files' stems.

    Equal stems are replaced by the files' names; equal file names by folder and stem, with a number if necessary.
    """
    if names:
        if len(names) != len(paths):
            raise InputError(f"{len(names)} --names for {len(paths)} --hyp; give one name per file, in order")
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise InputError(f"--names {repeated[0]} is given twice; give every system another name")
        return list(names)
    files = [Path(path) for path in paths]
    stems, full = Counter(file.stem for file in files), Counter(file.name for file in files)

    def default_name(file):
        if stems[file.stem] == 1:
            return file.stem
        return file.name if full[file.name] == 1 else f"{file.resolve().parent.name}/{file.stem}"

    distinct = []
    for name in map(default_name, files):
        number = 1
        while (candidate := name if number == 1 else f"{name}-{number}") in distinct:
            number += 1
        distinct.append(candidate)
    return distinct


def read_references(path, systems):
    """Return the reference sentences: of the file at ``path``, or the T- lines of the systems if ``path`` is None.

    Raises InputError if there are no references, if the systems' T- lines differ, or if the number of lines of a system
    differs from the number of references.
    """
    references, origin = _references_of_file(path) if path is not None else _references_of_systems(systems)
    if not any(line.strip() for line in references):
        raise InputError(f"{origin} has only blank lines; give the reference translations")
    for system in systems:
        if len(system.hypotheses) != len(references):
            raise InputError(
                f"{system.path} has {len(system.hypotheses)} lines but {origin} has {len(references)}; "
                "give the translation and the reference of the same sentences, line by line"
            )
    return references


def _references_of_file(path):
    lines = read_lines(path)
    if is_generate_output(lines):
        raise InputError(
            f"--ref {path} is fairseq-generate output; give plain text, or leave --ref out to use the T- lines of --hyp"
        )
    return lines, str(path)


def _references_of_systems(systems):
    for system in systems:
        if system.generated is None:
            raise InputError(f"{system.path} is plain text without references; give --ref")
        if system.generated.references is None:
            raise InputError(f"{system.path} has no T- lines; give --ref")
    first = systems[0]
    for system in systems[1:]:
        if system.generated.references != first.generated.references:
            raise InputError(f"the T- lines of {first.path} and {system.path} differ; give --ref")
    return first.generated.references, f"the T- lines of {first.path}"


def notes_on(systems, references, from_systems):
    """Return warnings, one line each, about text that makes scores misleading."""
    notes = []
    if from_systems:
        notes.append(
            "no --ref: the references are fairseq-generate's T- lines, which have <<unk>> for unknown words and are "
            "tokenised unless it ran with --tokenizer; for a comparable sacreBLEU give the raw text with --ref"
        )
    raw_references = not looks_tokenized(references)
    for system in systems:
        blank = sum(not line.strip() for line in system.hypotheses)
        if blank:
            notes.append(f"{blank} of the {len(system.hypotheses)} lines of {system.path} are blank and scored as such")
        if holds_subword_pieces(system.hypotheses):
            notes.append(f"{system.path} contains subword pieces (@@ or ▁); run fairseq-generate with --remove-bpe")
        if raw_references and looks_tokenized(system.hypotheses):
            notes.append(
                f"{system.path} is tokenised but the reference is not, so BLEU and chrF++ are wrong; detokenise it, or "
                "run fairseq-generate with --tokenizer moses --source-lang ... --target-lang ..."
            )
    return notes
