"""Writes the trees of ``syntax`` as German sentences.

A clause consists of topological fields. The finite verb is second in a main clause, first in a yes/no question, and
last in a subordinate clause. The middle field has subject, pronouns, time, dative, accusative, negation and place, in
this order. The right bracket has prefix, participle or infinitive. Relative and complement clauses may follow it.
"""

from dataclasses import replace

from examples.common.grammar import morphology
from examples.common.grammar.lexicon import CONJUNCTIONS, COORDINATORS, FOCUS, PLACES, TIMES
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


def sentence(tree):
    """The German text of a Statement, Compound or Question."""
    if isinstance(tree, Compound):
        words = [*main_clause(tree.first), COORDINATORS[tree.conjunction], *main_clause(tree.second)]
        return written(words, ".")
    if isinstance(tree, Question):
        return written(question(tree), "?")
    words = [*subordinate(tree.before), ",", *verb_first(tree.clause)] if tree.before else main_clause(tree.clause)
    if tree.after:
        words = [*words, ",", *subordinate(tree.after)]
    return written(words, ".")


def question(tree):
    """Question word, finite verb, middle field, right bracket."""
    if tree.word == "who":
        return [question_word(tree.clause), *verb_first(tree.clause)]
    return [CONJUNCTIONS.get(tree.word, ""), *verb_first(tree.clause)]


def question_word(clause):
    """wer, wen or wem, by the role of the Gap in the clause."""
    role = gap_role(clause)
    return morphology.pronoun("who", "nominative" if role == "subject" else object_case(clause, role))


def subordinate(tree):
    """Conjunction and verb-last clause; "when" is als in the past tense, otherwise wenn."""
    if tree.conjunction == "when":
        word = "als" if tree.clause.tense == "past" else "wenn"
    elif tree.conjunction == "who":
        word = question_word(tree.clause)
    else:
        word = CONJUNCTIONS[tree.conjunction]
    return [word, *verb_last(tree.clause)]


def main_clause(tree):
    """A verb-second clause: the subject, the time or the place is before the finite verb."""
    if tree.front == "time":
        return [TIMES[tree.time], *verb_first(replace(tree, time="", front=""))]
    if tree.front == "place":
        return [PLACES[tree.place], *verb_first(replace(tree, place="", front=""))]
    return [*nominal(tree.subject, "nominative"), *verb_first(tree, subject=False)]


def verb_first(tree, subject=True):
    """The clause from its finite verb on."""
    finite, bracket = verb_forms(tree)
    return [finite, *middle_and_after(tree, bracket, subject)]


def verb_last(tree):
    """Middle field, then the right bracket with the finite verb at its end."""
    finite, bracket = verb_forms(tree)
    if bracket and bracket == [tree.verb and tree.verb.prefix]:
        bracket = [tree.verb.prefix + finite]
    else:
        bracket = [*bracket, finite]
    return middle_and_after(tree, bracket, subject=True)


def infinitive(tree):
    """Middle field and infinitive with zu, which is inside a separable verb (anzurufen)."""
    verb = tree.verb
    bracket = [f"{verb.prefix}zu{verb.german}"] if verb.prefix else ["zu", verb.german]
    return middle_and_after(tree, bracket, subject=False)


def verb_forms(tree):
    """(finite verb, words of the right bracket)."""
    agreement, tense, verb = tree.subject.agreement, tree.tense, tree.verb
    past = " past" if tense == "past" else ""
    if tree.predicate:
        return morphology.auxiliary("sein" + past, agreement), []
    if tree.passive:
        return morphology.auxiliary("werden" + past, agreement), [verb.german_participle]
    if tense == "perfect":
        return morphology.auxiliary(verb.auxiliary, agreement), [verb.german_participle]
    if tense in ("present", "past"):
        inflect = morphology.past if past else morphology.present
        return inflect(verb, agreement), [verb.prefix] if verb.prefix else []
    return morphology.auxiliary(tense, agreement), [verb.prefix + verb.german]


def middle_and_after(tree, bracket, subject):
    """The middle field, the right bracket and what follows it."""
    arguments = [("dative", tree.indirect), ("accusative", tree.object)]
    if tree.passive:
        arguments = []
    elif tree.object and not tree.indirect:
        arguments = [(tree.verb.case, tree.object)]
    pronouns = [item for item in reversed(arguments) if isinstance(item[1], Pronoun)]
    phrases = [item for item in arguments if item[1] and not isinstance(item[1], (Pronoun, Gap))]

    words = nominal(tree.subject, "nominative") if subject else []
    for case, argument in pronouns:
        words += [morphology.pronoun(argument.english, case)]
    words += [TIMES.get(tree.time, "")]
    negation = "nicht" if tree.negated else ""
    after = []
    for index, (case, argument) in enumerate(phrases):
        if negation and argument is tree.object and getattr(argument, "determiner", "") == "a":
            argument, negation = replace(argument, determiner="no"), ""
        last = index == len(phrases) - 1
        if last and not negation and not tree.place and isinstance(argument, NounPhrase) and argument.relative:
            after = relative_clause(argument)
            argument = replace(argument, relative=None)
        words += nominal(argument, case)
    if tree.passive:
        words += agent(tree.object)
    words += [negation, PLACES.get(tree.place, "")]
    if tree.predicate:
        words += predicate(tree)
    words += [*bracket, *after]
    if isinstance(tree.complement, Infinitive):
        words += [",", *infinitive(tree.complement.clause)]
    elif tree.complement:
        words += [",", *subordinate(tree.complement)]
    return words


def agent(tree):
    """The agent of a passive: focus particle, von, noun phrase; vom for "von dem" without a relative clause."""
    focus, von, *rest = [FOCUS.get(tree.focus, ""), "von", *noun_phrase(replace(tree, focus=""), "dative")]
    if tree.determiner == "the" and rest[1] == "dem" and not tree.relative:
        return [focus, "vom", *rest[2:]]
    return [focus, von, *rest]


def predicate(tree):
    """The uninflected adjective, or its comparative with als."""
    if tree.than:
        return [tree.predicate.german_comparative, "als", *nominal(tree.than, "nominative")]
    return [tree.predicate.german]


def object_case(tree, role):
    """The case of the clause's direct or indirect object."""
    if role == "indirect":
        return "dative"
    return "accusative" if tree.indirect else tree.verb.case


def nominal(tree, case):
    """The words of a pronoun or noun phrase; a Gap has none."""
    if isinstance(tree, Gap):
        return []
    if isinstance(tree, Pronoun):
        return [morphology.pronoun(tree.english, case)]
    if isinstance(tree, Coordination):
        return [*noun_phrase(tree.first, case), "und", *noun_phrase(tree.second, case)]
    if isinstance(tree, Contrast):
        return ["nicht", *noun_phrase(tree.rejected, case), ", sondern", *noun_phrase(tree.asserted, case)]
    return noun_phrase(tree, case)


def noun_phrase(tree, case):
    """The words of a noun phrase with all its parts, with commas around the relative clause."""
    gender = gender_column(tree)
    if tree.determiner == "whose":
        return [morphology.noun(tree.noun, tree.plural, case)]
    words = [FOCUS.get(tree.focus, ""), morphology.determiner(tree.determiner, case, gender)]
    words += [morphology.adjective(entry, tree.determiner, case, gender) for entry in tree.adjectives]
    words += [morphology.noun(tree.noun, tree.plural, case)]
    words += noun_phrase(tree.possessor, "genitive") if tree.possessor else []
    words += [PLACES.get(tree.place, "")]
    return words + relative_clause(tree) if tree.relative else words


def relative_clause(tree):
    """Comma, relative pronoun with the gender of the noun and the case of the Gap, verb-last clause, comma."""
    clause = tree.relative.clause
    role = gap_role(clause)
    case = "genitive" if not role else "nominative" if role == "subject" else object_case(clause, role)
    return [",", morphology.relative_pronoun(case, gender_column(tree)), *verb_last(clause), ","]


def gender_column(tree):
    """The gender, or "plural", which has the same forms for all genders."""
    return "plural" if tree.plural else tree.noun.gender
