"""Write a small English-German parallel corpus from a grammar in which word order decides the translation.

``python -m examples.common.grammar.corpus --seed 1 --output DIR`` writes train, valid and test, each as .en and .de,
with one sentence per line. The same seed gives the same bytes. examples/quickstart/README.md describes the corpus.
"""

import argparse
import random
from pathlib import Path

from examples.common.grammar import english, german
from examples.common.grammar.sampler import Sampler, ambiguous, twins

SIZES = {"train": 8000, "valid": 300, "test": 500}
LENGTHS = range(5, 31)
TWIN_SHARE = 0.4


def corpus(seed, sizes=None):
    """{split: [(English, German), ...]}. Held-out sources differ from all training sources in at least two words.

    A sentence and its twin (the same English words in another order) are in the same split. No English and no German
    sentence is in two splits. ``sizes`` is {split: number of pairs}, with "train" first.
    """
    sampler = Sampler(random.Random(seed))
    splits, sources, targets, near = {}, set(), set(), set()
    for split, size in (sizes or SIZES).items():
        pairs = splits.setdefault(split, [])
        held_out = split != "train"
        while len(pairs) < size:
            family = [pair for pair in sentence_family(sampler) if pair[0] not in sources]
            if any(target in targets for _, target in family):
                continue
            if held_out and any(not near.isdisjoint(masked(source)) for source, _ in family):
                continue
            pairs += family[: size - len(pairs)]
            for source, target in family:
                sources.add(source)
                targets.add(target)
                if not held_out:
                    near.update(masked(source))
    return splits


def sentence_family(sampler):
    """One or two pairs: a sentence and, if it has twins, one of them with probability TWIN_SHARE."""
    while True:
        tree = sampler.sentence()
        if ambiguous(tree):
            continue
        trees = [tree]
        others = [twin for twin in twins(tree) if not ambiguous(twin)]
        if others and sampler.chance(TWIN_SHARE):
            trees.append(sampler.choose(others))
        pairs = [(english.sentence(tree), german.sentence(tree)) for tree in trees]
        if all(len(text.split()) in LENGTHS for pair in pairs for text in pair):
            return list(dict.fromkeys(pairs))


def masked(sentence):
    """The sentence with each word in turn replaced by None. Sentences that differ in one word share one of these."""
    words = sentence.lower().rstrip(".?").split()
    return {(*words[:index], None, *words[index + 1 :]) for index in range(len(words))}


def write(splits, directory):
    """Write every split as ``directory``/SPLIT.en and SPLIT.de (UTF-8, one sentence per line)."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for split, pairs in splits.items():
        for side, language in enumerate(("en", "de")):
            text = "".join(pair[side] + "\n" for pair in pairs)
            (directory / f"{split}.{language}").write_bytes(text.encode("utf-8"))


def main(argv=None):
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the six files")
    args = parser.parse_args(argv)
    write(corpus(args.seed), args.output)


if __name__ == "__main__":
    main()
