"""The translations that are to be scored together: reading them, naming them, finding their references."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from fairseq_posenc.errors import InputError
from fairseq_posenc.scoring.generate_output import GenerateOutput, is_generate_output, parse_generate_output
from fairseq_posenc.scoring.text import holds_subword_pieces, looks_tokenized, read_lines


@dataclass(frozen=True)
class System:
    """One file of translations; ``generated`` is None where it is plain text."""

    name: str
    path: str
    hypotheses: list[str]
    generated: Optional[GenerateOutput]


def read_systems(paths, names=None):
    """Read files of translations, plain text or fairseq-generate output, in the order given.

    Raises InputError where a file cannot be read, has only blank lines, is given twice, or where names are too few, too
    many or equal.
    """
    given_twice = [path for path, count in Counter(paths).items() if count > 1]
    if given_twice:
        raise InputError(f"--hyp {given_twice[0]} is given twice; give each file once")
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
    """Return one distinct name a file: those given, else the file's stem.

    Where stems are equal, it is the file's name, and where those are equal too, its folder and stem, with a number at
    need.
    """
    if names:
        if len(names) != len(paths):
            raise InputError(
                f"{len(names)} --names for {len(paths)} --hyp; give one name for each file, in their order"
            )
        equal = [name for name, count in Counter(names).items() if count > 1]
        if equal:
            raise InputError(f"--names {equal[0]} is given twice; give each system a name of its own")
        return list(names)
    files = [Path(path) for path in paths]
    stems, full = Counter(file.stem for file in files), Counter(file.name for file in files)

    def wanted(file):
        if stems[file.stem] == 1:
            return file.stem
        return file.name if full[file.name] == 1 else f"{file.resolve().parent.name}/{file.stem}"

    distinct = []
    for name in map(wanted, files):
        number = 1
        while (candidate := name if number == 1 else f"{name}-{number}") in distinct:
            number += 1
        distinct.append(candidate)
    return distinct


def read_references(path, systems):
    """Return the reference sentences: of the file at ``path``, or the T- lines of the systems where that is None.

    Raises InputError where there are none, where the systems' T- lines differ, or where a system has another number of
    lines.
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
            raise InputError(f"{system.path} is plain text, which holds no references; give --ref")
        if system.generated.references is None:
            raise InputError(f"{system.path} has no T- lines; give --ref")
    first = systems[0]
    for system in systems[1:]:
        if system.generated.references != first.generated.references:
            raise InputError(f"the T- lines of {first.path} and {system.path} differ; give --ref")
    return first.generated.references, f"the T- lines of {first.path}"


def notes_on(systems, references, from_systems):
    """Return warnings, one line each, on text that makes scores misleading."""
    notes = []
    if from_systems:
        notes.append(
            "no --ref: the references are fairseq-generate's T- lines, where unknown words are <<unk>> and which are "
            "tokenised unless it had --tokenizer; for a comparable sacreBLEU give the raw text with --ref"
        )
    raw_references = not looks_tokenized(references)
    for system in systems:
        blank = sum(not line.strip() for line in system.hypotheses)
        if blank:
            notes.append(f"{blank} of the {len(system.hypotheses)} lines of {system.path} are blank, and count as such")
        if holds_subword_pieces(system.hypotheses):
            notes.append(f"{system.path} holds subword pieces (@@ or ▁); run fairseq-generate with --remove-bpe")
        if raw_references and looks_tokenized(system.hypotheses):
            notes.append(
                f"{system.path} is tokenised but the reference is not, which spoils BLEU and chrF++; detokenise it, or "
                "run fairseq-generate with --tokenizer moses --source-lang ... --target-lang ..."
            )
    return notes
