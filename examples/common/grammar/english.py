"""Writes the trees of ``syntax`` as English sentences, with do-support and stranded prepositions."""

from examples.common.grammar.syntax import (
    Compound,
    Contrast,
    Coordination,
    Gap,
    Infinitive,
    NounPhrase,
    Pronoun,
    Question,
    gap_role,
)
from examples.common.grammar.text import written
from examples.common.grammar.words import Noun

OBJECT_PRONOUNS = {"I": "me", "we": "us", "he": "him", "she": "her", "they": "them", "who": "who"}
BE = {
    "present": {"first singular": "am", "third singular": "is"},
    "past": {"first singular": "was", "third singular": "was"},
}
MODALS = ("can", "must", "should", "will")


def sentence(tree):
    """The English text of a Statement, Compound or Question."""
    if isinstance(tree, Compound):
        return written([*clause(tree.first), ",", tree.conjunction, *clause(tree.second)], ".")
    if isinstance(tree, Question):
        return written(question(tree), "?")
    words = clause(tree.clause)
    if tree.before:
        words = [*subordinate(tree.before), ",", *words]
    if tree.after:
        words = [*words, *subordinate(tree.after)]
    return written(words, ".")


def question(tree):
    """The words of a direct question."""
    if tree.word == "who" and gap_role(tree.clause) == "subject":
        return ["who", *clause(tree.clause)]
    operator, rest = verb_group(tree.clause, support=True)
    return [tree.word, operator, *nominal(tree.clause.subject), *after_operator(tree.clause, rest)]


def subordinate(tree):
    """The words of a subordinate clause with its conjunction."""
    return [tree.conjunction, *clause(tree.clause)]


def clause(tree):
    """The words of a declarative clause; their order is the same in main and subordinate clauses."""
    opening = getattr(tree, tree.front).split() if tree.front else []
    operator, rest = verb_group(tree, support=tree.negated)
    words = [*opening, *nominal(tree.subject), operator, *after_operator(tree, rest)]
    return " ".join(word for word in words if word).replace("can not", "cannot").split()


def after_operator(tree, rest):
    """Everything after the (possibly empty) auxiliary: negation, verb, objects, adverbials, complement."""
    words = ["not", *rest] if tree.negated else list(rest)
    words += arguments(tree)
    words += tree.place.split() if tree.front != "place" else []
    words += tree.time.split() if tree.front != "time" else []
    if isinstance(tree.complement, Infinitive):
        inner = tree.complement.clause
        words += ["to", inner.verb.english, *arguments(inner), inner.place, inner.time]
    elif tree.complement:
        words += subordinate(tree.complement)
    return words


def arguments(tree):
    """The objects, as in "gives the boy the apple" or "gives the apple to the boy", or the "by" phrase of a passive."""
    if tree.than:
        return ["than", *nominal(tree.than, "object")]
    if tree.passive:
        return ["by", *nominal(tree.object, "object")]
    direct = nominal(tree.object, "object") if tree.object else []
    if not tree.indirect:
        return direct
    indirect = nominal(tree.indirect, "object")
    if tree.double_object:
        return [*indirect, *direct]
    return [*direct, tree.verb.preposition, *indirect]


def verb_group(tree, support):
    """(auxiliary, other words of the verb). The auxiliary of a simple tense is "do" with ``support``, otherwise ""."""
    agreement = tree.subject.agreement
    third = agreement == "third singular"
    tense = tree.tense
    if tree.predicate or tree.passive:
        form = BE[tense].get(agreement, "are" if tense == "present" else "were")
        if tree.passive:
            return form, [tree.verb.english_participle]
        return form, [tree.predicate.english_comparative if tree.than else tree.predicate.english]
    verb = tree.verb
    if tense == "perfect":
        return ("has" if third else "have"), [verb.english_participle]
    if tense in MODALS:
        return tense, [verb.english]
    if tense == "want":
        if support:
            return ("does" if third else "do"), ["want", "to", verb.english]
        return "", ["wants" if third else "want", "to", verb.english]
    if support:
        return ("did" if tense == "past" else "does" if third else "do"), [verb.english]
    if tense == "past":
        return "", [verb.english_past]
    return "", [verb.english_third if third else verb.english]


def nominal(tree, role="subject"):
    """The words of a pronoun or noun phrase; a Gap has none."""
    if isinstance(tree, Gap):
        return []
    if isinstance(tree, Pronoun):
        return [tree.english if role == "subject" else OBJECT_PRONOUNS[tree.english]]
    if isinstance(tree, Coordination):
        return [*noun_phrase(tree.first), "and", *noun_phrase(tree.second)]
    if isinstance(tree, Contrast):
        return ["not", *noun_phrase(tree.rejected), "but", *noun_phrase(tree.asserted)]
    return noun_phrase(tree)


def noun_phrase(tree: NounPhrase):
    """The words of a noun phrase with all its parts."""
    head = [*(adjective.english for adjective in tree.adjectives), noun(tree.noun, tree.plural)]
    if tree.possessor and tree.prenominal:
        *owner, last = noun_phrase(tree.possessor)
        words = [*owner, last + "'s", *head]
    else:
        words = [*determiner(tree, head[0]), *head]
        words += ["of", *noun_phrase(tree.possessor)] if tree.possessor else []
    words = [tree.focus, *words, *tree.place.split()]
    if tree.relative:
        inner = tree.relative.clause
        whose = isinstance(inner.subject, NounPhrase) and inner.subject.determiner == "whose"
        words += clause(inner) if whose else ["who" if tree.noun.human else "that", *clause(inner)]
    return words


def determiner(tree, following):
    """The article or determiner as written before ``following``."""
    if tree.determiner == "a":
        return ["an" if following[0] in "aeiou" else "a"]
    if tree.determiner == "this" and tree.plural:
        return ["these"]
    return [tree.determiner]


def noun(entry: Noun, plural):
    """The noun in the singular or the plural."""
    return entry.english_plural if plural else entry.english
