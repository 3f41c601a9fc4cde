"""Tiny archives named as those that the recipes download, and with the same members, in a folder that is the mirror."""

import gzip
import io
import json
import tarfile
import zipfile

from examples.lm.corpus import splits
from examples.lm.corpus import wikitext as wikitext_corpus
from examples.wmt14.corpus import held_out, sources

#: Of letters that the training text has too, so that no piece is unknown.
HELD_OUT_PREFIX = {"valid": "Satz here", "test": "sentence hier"}


def pairs(prefix, count):
    """(English, other) sentences of a few words, like no others."""
    return [(f"{prefix} sentence {number} here .", f"{prefix} Satz {number} hier .") for number in range(count)]


def text(sentences, side):
    return "".join(pair[side] + "\n" for pair in sentences).encode()


def sgml(sentences, side):
    lines = [f'<seg id="{number}">{pair[side]}</seg>' for number, pair in enumerate(sentences, 1)]
    return "\n".join(
        ['<srcset setid="newstest" srclang="any">', '<doc docid="a">', *lines, "</doc>", "</srcset>", ""]
    ).encode()


def write(path, members):
    """Write a tar archive, packed if its name says so: {member: bytes}."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def training_archives(mirror, pair, count=60):
    """Write the training archives of a pair; return all sentence pairs in the order of the training text."""
    sentences = []
    for part in sources.TRAINING[pair]:
        mine = pairs(part.member[:8].replace("/", ""), count)
        members = {"README": b"not text of ours"}
        for side, language in enumerate(pair.split("-")):
            name, content = part.member.format(language), text(mine, side)
            members[name] = gzip.compress(content) if name.endswith(".gz") else content
        write(mirror / part.archive.path, members)
        sentences += mine
    return sentences


def held_out_archives(mirror, pair, sizes):
    """Write the archives of the held-out sets as SGML, those of the official test set backwards; the sentences."""
    sets = {split: pairs(HELD_OUT_PREFIX[split], size) for split, size in sizes.items()}
    sets["test-sacrebleu"] = sets["test"][::-2]
    for split, sentences in sets.items():
        names = sources.held_out_members(split, pair)
        write(
            mirror / sources.held_out_archive(split).path,
            {name: sgml(sentences, side) for side, name in enumerate(names)},
        )
    return sets


def held_out_text(folder, pair, sizes):
    """Write the held-out sets as plain text beside the archives; the sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    sets = {split: pairs(HELD_OUT_PREFIX[split], size) for split, size in sizes.items()}
    sets["test-sacrebleu"] = sets["test"][::-2]
    for split, sentences in sets.items():
        for side, language in enumerate(pair.split("-")):
            stem = f"{held_out.PLAIN[split].format(pair=pair)}.{language}"
            if split == "valid":
                (folder / f"{stem}.gz").write_bytes(gzip.compress(text(sentences, side)))
            else:
                (folder / stem).write_bytes(text(sentences, side))
    return sets


ARTICLES = [" \n = First = \n \n Text . \n = = Section = = \n More . \n", " \n = Second = Half = \n \n Other text . \n"]


def wikitext(folder, kind):
    """WikiText's archive with three times these articles."""
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / wikitext_corpus.ARCHIVES[kind].name, "w") as file:
        for split in splits.SPLITS:
            file.writestr(wikitext_corpus.MEMBERS[kind].format(split), "".join(ARTICLES))
    return folder


def gpt2_files(folder):
    """GPT-2's files for bytes and two merges, in its own spelling of bytes."""
    from fairseq.data.encoders.gpt2_bpe_utils import bytes_to_unicode

    symbols = [*bytes_to_unicode().values(), "th", "the"]
    folder.mkdir()
    (folder / "encoder.json").write_text(json.dumps({symbol: number for number, symbol in enumerate(symbols)}))
    (folder / "vocab.bpe").write_text("#version: 0.2\nt h\nth e\n", encoding="utf-8")
    return len(symbols)
