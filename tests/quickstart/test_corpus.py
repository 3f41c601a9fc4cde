"""The corpus as a whole: repeatable, clean, held out, and such that the order of the words decides."""

import hashlib
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from examples.common.grammar import corpus as grammar
from examples.common.grammar import lexicon

ROOT = Path(__file__).resolve().parents[2]
TEXT = re.compile(r"[A-ZÄÖÜ][A-Za-zÄÖÜäöüß,' ]*[a-zß][.?]")


SAMPLE_SHA256 = "486f1b66e5da90f9842ab8f6e756f78a3acdc7078068eb0ad45ecece4b4c2b54"
OTHER_FINITE_FORMS = """
    bin ist sind war waren habe hat haben werde wird werden wurde wurden kann können muss müssen will wollen sollte
    sollten versucht versuche versuchen versuchte versuchten bittet bitte bitten bat baten verspricht verspreche
    versprechen versprach versprachen
"""


def words(sentence):
    return re.findall(r"[^\W\d_]+(?:'s)?|,", sentence.lower())


def test_same_seed_gives_the_same_bytes(tmp_path):
    sample = grammar.corpus(1, {"train": 50, "test": 10})
    text = "\n".join("\t".join(pair) for split in ("train", "test") for pair in sample[split])
    assert hashlib.sha256(text.encode()).hexdigest() == SAMPLE_SHA256
    # Another process has another hash seed: sets must not decide anything.
    code = (
        "import sys; from examples.common.grammar import corpus as grammar; "
        "grammar.write(grammar.corpus(1, {'train': 50, 'test': 10}), sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env={"PYTHONHASHSEED": "7"}, cwd=ROOT)
    assert (tmp_path / "train.de").read_text(encoding="utf-8").split("\n")[:-1] == [p[1] for p in sample["train"]]
    assert grammar.corpus(2, {"train": 50}) != {"train": sample["train"]}


def test_text_is_clean(grammar_corpus):
    for pairs in grammar_corpus.values():
        for pair in pairs:
            for text in pair:
                assert TEXT.fullmatch(text) and "  " not in text and " ," not in text and ",," not in text, text
                assert 5 <= len(text.split()) <= 30
            assert pair[0][-1] == pair[1][-1]


def test_held_out_sentences_are_no_variants_of_training_sentences():
    # Chance alone makes one variant in 500 sentences, so many are looked at.
    corpus = grammar.corpus(2, {"train": 7000, "valid": 100, "test": 7000})
    train = corpus["train"]
    known = {source for source, _ in train}, {target for _, target in train}
    masked = {(*w[:i], "_", *w[i + 1 :]) for source, _ in train for w in [words(source)] for i in range(len(w))}
    for source, target in corpus["valid"] + corpus["test"]:
        assert source not in known[0] and target not in known[1]
        w = words(source)
        assert not any((*w[:i], "_", *w[i + 1 :]) in masked for i in range(len(w))), source
    every = [source for pairs in corpus.values() for source, _ in pairs]
    assert len(set(every)) == len(every)


def test_vocabulary_is_small_and_known_from_training(grammar_corpus):
    for side in (0, 1):
        train = {word for pair in grammar_corpus["train"] for word in words(pair[side])}
        test = Counter(word for pair in grammar_corpus["test"] for word in words(pair[side]))
        assert 200 < len(train) < 1000
        assert sum(count for word, count in test.items() if word not in train) < 0.01 * sum(test.values())


def test_many_test_sentences_are_decided_by_the_order_alone(grammar_corpus):
    bags = defaultdict(set)
    for source, target in grammar_corpus["test"]:
        bags[tuple(sorted(words(source)))].add(target)
    ambiguous = sum(len(bags[tuple(sorted(words(source)))]) > 1 for source, _ in grammar_corpus["test"])
    assert ambiguous > 0.25 * len(grammar_corpus["test"])
    # The twins are not the same German words either: case endings change with the roles.
    twins = [targets for targets in bags.values() if len(targets) == 2]
    assert sum(len({tuple(sorted(words(target))) for target in pair}) == 2 for pair in twins) > 0.5 * len(twins)


def finite_forms():
    """Every finite German verb form of the lexicon, without prefixes; and the same with the prefix joined."""
    verbs = [
        *lexicon.TRANSITIVE.values(),
        *lexicon.HANDLING.values(),
        *lexicon.DITRANSITIVE.values(),
        *lexicon.INTRANSITIVE.values(),
        *lexicon.SAYING.values(),
        *lexicon.KNOWING.values(),
    ]
    apart = set(OTHER_FINITE_FORMS.split())
    joined = set(apart)
    for verb in verbs:
        first = verb.german_third if verb.german == "wissen" else re.sub("e?n$", "e", verb.german)
        plural = verb.german_past + ("n" if verb.german_past.endswith("e") else "en")
        forms = {first, verb.german_third, verb.german, verb.german_past, plural}
        apart |= forms
        joined |= {verb.prefix + form for form in forms}
    return apart, joined


def test_the_finite_verb_is_second_after_a_fronted_adverb_and_last_after_a_conjunction(grammar_corpus):
    apart, joined = finite_forms()
    second = last = 0
    for _, target in grammar_corpus["train"]:
        if re.match(r"(Heute|Jetzt|Oft|Manchmal|Gestern) ", target):
            assert target.split()[1] in apart, target
            second += 1
        clause = re.search(r", (?:dass|weil|obwohl|ob|während|bevor) ([^,]+)\.$", target)
        if clause and not re.search(r" (und|oder) \w+ ", clause.group(1)):
            assert clause.group(1).split()[-1] in joined, target
            last += 1
    assert second > 50 and last > 50
