"""Sentences translated by hand: the German order, agreement and inflection that the grammar must produce."""

from dataclasses import replace

import pytest

from examples.common.grammar import english, german
from examples.common.grammar.lexicon import (
    ASKING,
    CHARACTERS,
    DITRANSITIVE,
    HANDLING,
    INTRANSITIVE,
    KNOWING,
    NOUNS,
    SAYING,
    TRANSITIVE,
    TRYING,
)
from examples.common.grammar.syntax import (
    Clause,
    Compound,
    Contrast,
    Coordination,
    Gap,
    Infinitive,
    NounPhrase,
    Pronoun,
    Question,
    Relative,
    Statement,
    Subordinate,
)


def phrase(noun, determiner="the", *adjectives, **rest):
    return NounPhrase(NOUNS[noun], determiner, tuple(CHARACTERS[word] for word in adjectives), **rest)


SEE, CALL, HELP = TRANSITIVE["see"], TRANSITIVE["call"], TRANSITIVE["help"]
GIVE, SLEEP, ARRIVE = DITRANSITIVE["give"], INTRANSITIVE["sleep"], INTRANSITIVE["arrive"]
DOG, WOMAN, MAN, BOY, CHILD = (phrase(noun) for noun in ("dog", "woman", "man", "boy", "child"))
SEES = Clause(MAN, SEE, object=DOG)
CALLS = Clause(WOMAN, CALL, object=BOY)
GIVES = Clause(WOMAN, GIVE, object=phrase("apple", "a"), indirect=BOY)


def relative(noun, clause):
    return replace(noun, relative=Relative(clause))


GOLDEN = [
    (SEES, "The man sees the dog.", "Der Mann sieht den Hund."),
    (replace(SEES, subject=DOG, object=MAN), "The dog sees the man.", "Der Hund sieht den Mann."),
    # Verb second: what opens the clause pushes the subject behind the verb.
    (
        replace(SEES, time="today", front="time", tense="past"),
        "Today the man saw the dog.",
        "Heute sah der Mann den Hund.",
    ),
    (
        replace(SEES, place="in the garden", front="place", time="often"),
        "In the garden the man sees the dog often.",
        "Im Garten sieht der Mann oft den Hund.",
    ),
    # The bracket: separable prefix, participle, infinitive at the end.
    (CALLS, "The woman calls the boy.", "Die Frau ruft den Jungen an."),
    (
        replace(CALLS, negated=True, tense="past"),
        "The woman did not call the boy.",
        "Die Frau rief den Jungen nicht an.",
    ),
    (
        replace(CALLS, tense="perfect", object=Pronoun("they")),
        "The woman has called them.",
        "Die Frau hat sie angerufen.",
    ),
    (
        replace(CALLS, tense="can", negated=True),
        "The woman cannot call the boy.",
        "Die Frau kann den Jungen nicht anrufen.",
    ),
    (
        Clause(Pronoun("we"), ARRIVE, tense="perfect", time="today"),
        "We have arrived today.",
        "Wir sind heute angekommen.",
    ),
    # Objects: dative before accusative, pronouns first, kein for "not a".
    (
        Clause(
            phrase("friend", possessor=phrase("farmer", "the", "old")),
            GIVE,
            object=phrase("apple", "a"),
            indirect=phrase("child", "this", "small"),
        ),
        "The friend of the old farmer gives an apple to this small child.",
        "Der Freund des alten Bauern gibt diesem kleinen Kind einen Apfel.",
    ),
    (
        replace(GIVES, indirect=Pronoun("he"), double_object=True, negated=True),
        "The woman does not give him an apple.",
        "Die Frau gibt ihm keinen Apfel.",
    ),
    (
        replace(GIVES, object=Pronoun("she"), indirect=BOY),
        "The woman gives her to the boy.",
        "Die Frau gibt sie dem Jungen.",
    ),
    (
        Clause(Pronoun("I"), HELP, object=phrase("child", "two", "sad", plural=True)),
        "I help two sad children.",
        "Ich helfe zwei traurigen Kindern.",
    ),
    # Passive, comparison, focus, contrast.
    (
        Clause(phrase("dog", "a", "big"), SEE, object=WOMAN, passive=True, tense="past"),
        "A big dog was seen by the woman.",
        "Ein großer Hund wurde von der Frau gesehen.",
    ),
    (
        Clause(phrase("horse"), predicate=CHARACTERS["old"], than=phrase("bear", "my")),
        "The horse is older than my bear.",
        "Das Pferd ist älter als mein Bär.",
    ),
    (
        Clause(phrase("lion", focus="only"), SEE, object=phrase("bird", focus="even")),
        "Only the lion sees even the bird.",
        "Nur der Löwe sieht sogar den Vogel.",
    ),
    (
        Clause(Contrast(WOMAN, MAN), SEE, object=Coordination(DOG, phrase("cat", "our", "old"))),
        "Not the woman but the man sees the dog and our old cat.",
        "Nicht die Frau, sondern der Mann sieht den Hund und unsere alte Katze.",
    ),
    # Relative clauses: the same English words, another case of the German pronoun.
    (
        Clause(relative(MAN, Clause(Gap(), SEE, object=WOMAN)), SLEEP),
        "The man who sees the woman sleeps.",
        "Der Mann, der die Frau sieht, schläft.",
    ),
    (
        Clause(relative(MAN, Clause(WOMAN, SEE, object=Gap())), SLEEP),
        "The man who the woman sees sleeps.",
        "Der Mann, den die Frau sieht, schläft.",
    ),
    (
        Clause(
            relative(phrase("child", plural=True), Clause(BOY, GIVE, object=phrase("book"), indirect=Gap())),
            SLEEP,
            tense="past",
        ),
        "The children who the boy gives the book to slept.",
        "Die Kinder, denen der Junge das Buch gibt, schliefen.",
    ),
    (
        Clause(
            Pronoun("she"),
            CALL,
            tense="want",
            object=relative(WOMAN, Clause(phrase("dog", "whose"), HELP, object=BOY)),
        ),
        "She wants to call the woman whose dog helps the boy.",
        "Sie will die Frau anrufen, deren Hund dem Jungen hilft.",
    ),
    (
        Clause(Pronoun("he"), HANDLING["buy"], object=phrase("chair", "every")),
        "He buys every chair.",
        "Er kauft jeden Stuhl.",
    ),
    # Complements.
    (
        Clause(WOMAN, SAYING["say"], time="today", complement=Subordinate("that", replace(CALLS, subject=MAN))),
        "The woman says today that the man calls the boy.",
        "Die Frau sagt heute, dass der Mann den Jungen anruft.",
    ),
    (
        Clause(
            Pronoun("I"), KNOWING["know"], complement=Subordinate("who", Clause(MAN, SEE, object=Gap(), tense="must"))
        ),
        "I know who the man must see.",
        "Ich weiß, wen der Mann sehen muss.",
    ),
    (
        Clause(MAN, ASKING["ask"], object=WOMAN, complement=Infinitive(Clause(None, CALL, object=BOY))),
        "The man asks the woman to call the boy.",
        "Der Mann bittet die Frau, den Jungen anzurufen.",
    ),
    (
        Clause(MAN, TRYING["try"], tense="past", complement=Infinitive(Clause(None, HELP, object=phrase("judge")))),
        "The man tried to help the judge.",
        "Der Mann versuchte, der Richterin zu helfen.",
    ),
]

SENTENCES = [
    (
        Statement(SEES, before=Subordinate("because", CALLS)),
        "Because the woman calls the boy, the man sees the dog.",
        "Weil die Frau den Jungen anruft, sieht der Mann den Hund.",
    ),
    (
        Statement(
            replace(SEES, tense="perfect"), after=Subordinate("although", replace(CALLS, negated=True, tense="want"))
        ),
        "The man has seen the dog although the woman does not want to call the boy.",
        "Der Mann hat den Hund gesehen, obwohl die Frau den Jungen nicht anrufen will.",
    ),
    (
        Statement(replace(SEES, tense="past"), before=Subordinate("when", Clause(CHILD, SLEEP, tense="past"))),
        "When the child slept, the man saw the dog.",
        "Als das Kind schlief, sah der Mann den Hund.",
    ),
    (
        Statement(SEES, before=Subordinate("when", Clause(CHILD, SLEEP))),
        "When the child sleeps, the man sees the dog.",
        "Wenn das Kind schläft, sieht der Mann den Hund.",
    ),
    (
        Compound(SEES, "but", replace(CALLS, time="now", front="time")),
        "The man sees the dog, but now the woman calls the boy.",
        "Der Mann sieht den Hund, aber jetzt ruft die Frau den Jungen an.",
    ),
    (Question(replace(CALLS, tense="past")), "Did the woman call the boy?", "Rief die Frau den Jungen an?"),
    (Question(Clause(Gap(), HELP, object=MAN), "who"), "Who helps the man?", "Wer hilft dem Mann?"),
    (Question(Clause(MAN, HELP, object=Gap()), "who"), "Who does the man help?", "Wem hilft der Mann?"),
    (
        Question(Clause(phrase("girl", plural=True), SEE, object=Gap(), tense="perfect"), "who"),
        "Who have the girls seen?",
        "Wen haben die Mädchen gesehen?",
    ),
    (Question(Clause(DOG, SLEEP), "why"), "Why does the dog sleep?", "Warum schläft der Hund?"),
]


@pytest.mark.parametrize(
    ("tree", "source", "target"),
    [(Statement(clause), source, target) for clause, source, target in GOLDEN] + SENTENCES,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sentence_is_as_translated_by_hand(tree, source, target):
    assert english.sentence(tree) == source
    assert german.sentence(tree) == target
