"""German forms against forms written by hand."""

import pytest

from examples.common.grammar import morphology
from examples.common.grammar.lexicon import CHARACTERS, DITRANSITIVE, KNOWING, NOUNS, QUALITIES, TRANSITIVE

CASES = ("nominative", "accusative", "dative", "genitive")
# In the order of CASES.
NOUN_PHRASES = """
    the old man: der alte Mann, den alten Mann, dem alten Mann, des alten Mannes
    the old queen: die alte Königin, die alte Königin, der alten Königin, der alten Königin
    the old child: das alte Kind, das alte Kind, dem alten Kind, des alten Kindes
    the old child plural: die alten Kinder, die alten Kinder, den alten Kindern, der alten Kinder
    a dark coat: ein dunkler Mantel, einen dunklen Mantel, einem dunklen Mantel, eines dunklen Mantels
    my expensive book: mein teures Buch, mein teures Buch, meinem teuren Buch, meines teuren Buches
    no tired witch: keine müde Hexe, keine müde Hexe, keiner müden Hexe, keiner müden Hexe
    this clever boy: dieser kluge Junge, diesen klugen Jungen, diesem klugen Jungen, dieses klugen Jungen
    our old mother plural: unsere alten Mütter, unsere alten Mütter, unseren alten Müttern, unserer alten Mütter
    many big bear plural: viele große Bären, viele große Bären, vielen großen Bären, vieler großer Bären
    some small baby plural: einige kleine Babys, einige kleine Babys, einigen kleinen Babys, einiger kleiner Babys
"""


def full(noun, determiner, adjective, case, plural=False):
    """Determiner, adjective and noun."""
    entry = NOUNS[noun]
    gender = "plural" if plural else entry.gender
    words = [
        morphology.determiner(determiner, case, gender),
        morphology.adjective({**CHARACTERS, **QUALITIES}[adjective], determiner, case, gender),
        morphology.noun(entry, plural, case),
    ]
    return " ".join(words)


@pytest.mark.parametrize("line", NOUN_PHRASES.strip().splitlines())
def test_noun_phrase(line):
    english, forms = line.strip().split(": ")
    determiner, adjective, noun, *plural = english.split()
    assert [full(noun, determiner, adjective, case, bool(plural)) for case in CASES] == forms.split(", ")


def test_numbers_take_strong_adjectives_and_no_ending():
    assert full("horse", "two", "white", "nominative", plural=True) == "zwei weiße Pferde"
    assert full("horse", "three", "white", "dative", plural=True) == "drei weißen Pferden"


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        (TRANSITIVE["see"], "sehe sieht sehen sah sahen"),
        (TRANSITIVE["invite"], "lade lädt laden lud luden"),
        (TRANSITIVE["admire"], "bewundere bewundert bewundern bewunderte bewunderten"),
        (TRANSITIVE["answer"], "antworte antwortet antworten antwortete antworteten"),
        (DITRANSITIVE["take away"], "nehme nimmt nehmen nahm nahmen"),
        (KNOWING["know"], "weiß weiß wissen wusste wussten"),
    ],
)
def test_verb(verb, forms):
    persons = [morphology.present(verb, person) for person in ("first singular", "third singular", "third plural")]
    persons += [morphology.past(verb, person) for person in ("first singular", "first plural")]
    assert persons == forms.split()


def test_relative_pronouns():
    assert [morphology.relative_pronoun(case, "m") for case in CASES] == ["der", "den", "dem", "dessen"]
    assert [morphology.relative_pronoun(case, "plural") for case in CASES] == ["die", "die", "denen", "deren"]
