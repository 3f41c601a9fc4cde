"""The files of WMT14's training and held-out text, and where to download them."""

from dataclasses import dataclass

from sacrebleu.dataset import DATASETS

from examples.common.fetch import Archive

#: Sites that have the archives below, tried in this order.
MIRRORS = ("https://www.statmt.org", "https://statmt.org", "http://www.statmt.org")

#: {split: sacreBLEU's name of it}. ``test-sacrebleu`` has the sentences of the test set that were scored officially:
#: 2,737 of 3,003 in English-German, all of them in English-French.
HELD_OUT = {"valid": "wmt13", "test": "wmt14/full", "test-sacrebleu": "wmt14"}


@dataclass(frozen=True)
class Part:
    """One parallel text in an archive.

    Args:
        archive: Archive.
        member: its path in the archive, with ``{}`` for the language.
        pairs: its expected number of sentence pairs; any other number causes a warning.
    """

    archive: Archive
    member: str
    pairs: int


EUROPARL = Archive("wmt13/training-parallel-europarl-v7.tgz")
COMMON_CRAWL = Archive("wmt13/training-parallel-commoncrawl.tgz")
UNITED_NATIONS = Archive("wmt13/training-parallel-un.tgz")
NEWS_COMMENTARY = Archive("wmt14/training-parallel-nc-v9.tgz")
GIGA = Archive("wmt10/training-giga-fren.tar")

TRAINING = {
    "en-de": (
        Part(EUROPARL, "training/europarl-v7.de-en.{}", 1_920_209),
        Part(COMMON_CRAWL, "commoncrawl.de-en.{}", 2_399_123),
        Part(NEWS_COMMENTARY, "training/news-commentary-v9.de-en.{}", 201_288),
    ),
    "en-fr": (
        Part(EUROPARL, "training/europarl-v7.fr-en.{}", 2_007_723),
        Part(COMMON_CRAWL, "commoncrawl.fr-en.{}", 3_244_152),
        Part(UNITED_NATIONS, "un/undoc.2000.fr-en.{}", 12_886_831),
        Part(NEWS_COMMENTARY, "training/news-commentary-v9.fr-en.{}", 183_251),
        Part(GIGA, "giga-fren.release2.fixed.{}.gz", 22_520_400),
    ),
}


def held_out_archive(split):
    """The archive of a held-out split; its MD5 is the one that sacreBLEU checks."""
    dataset = DATASETS[HELD_OUT[split]]
    return Archive(dataset.data[0].split("statmt.org/", 1)[1], dataset.md5[0])


def held_out_members(split, pair):
    """The SGML members of the source and the reference in ``held_out_archive(split)``."""
    source, reference = DATASETS[HELD_OUT[split]].langpairs[pair][:2]
    return source, reference


def archives(pair):
    """All archives of a language pair, each once, training text first."""
    training = [part.archive for part in TRAINING[pair]]
    return list(dict.fromkeys([*training, *(held_out_archive(split) for split in HELD_OUT)]))
