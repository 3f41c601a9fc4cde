"""Draws random trees of the quickstart's grammar; finds twins, trees with the same English words in another order."""

from dataclasses import fields, is_dataclass, replace

from examples.common.grammar import lexicon
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
from examples.common.grammar.words import Adjective, Noun, Verb

PASSIVE = [verb for verb in lexicon.TRANSITIVE.values() if verb.case == "accusative"]
REPORTING = {**lexicon.SAYING, **lexicon.KNOWING}
CAN_FOCUS = ("the", "this", *lexicon.POSSESSIVES)
SIMPLE_TENSES = ("present", "past")


class Sampler:
    """Draws sentences with ``random``, a random.Random. No noun occurs twice in a sentence."""

    def __init__(self, random):
        self.random = random
        self.used = set()

    def chance(self, probability):
        return self.random.random() < probability

    def choose(self, options):
        return self.random.choice(list(options))

    def weighted(self, **weights):
        return self.random.choices(list(weights), list(weights.values()))[0]

    def sentence(self):
        """A Statement, Compound or Question."""
        self.used = set()
        kind = self.weighted(statement=38, before=13, after=13, compound=8, question=14, complement=14)
        if kind == "question":
            return self.question()
        if kind == "complement":
            return Statement(self.complement_clause(main=True))
        if kind == "compound":
            return Compound(self.clause(main=True, nested=1), self.choose(lexicon.COORDINATORS), self.clause(main=True))
        if kind in ("before", "after"):
            clause = self.clause(main=kind == "after")
            return Statement(clause, **{kind: self.adverbial(clause.tense)})
        return Statement(self.clause(main=True, nested=2))

    def adverbial(self, tense):
        """A subordinate clause in the past tense if its main clause is, otherwise in the present."""
        conjunction = self.choose(["because", "although", "while", "before", "if", "when", "when"])
        return Subordinate(conjunction, self.clause(tenses=("past" if tense == "past" else "present",)))

    def question(self):
        kind = self.weighted(polar=4, subject=3, object=4, why=2, where=2)
        clause = self.clause(tenses=("present", "past", "perfect", "can", "will"), plain=True)
        clause = replace(clause, negated=False, place="" if kind == "where" else clause.place)
        if kind in ("subject", "object"):
            return Question(self.with_gap(clause, kind), "who")
        return Question(clause, "" if kind == "polar" else kind)

    def complement_clause(self, main=False):
        """says that ..., knows who/whether/why ..., tries to ..., asks the boy to ..."""
        kind = self.weighted(saying=5, asking=4, knowing=4, trying=2)
        common = {"tense": self.choose(SIMPLE_TENSES), "subject": self.nominal("subject")}
        common["time"] = self.time(common["tense"], 0.25)
        common["front"] = "time" if main and common["time"] and self.chance(0.5) else ""
        if kind == "saying":
            complement = Subordinate("that", self.clause(nested=1))
            return Clause(verb=self.choose(REPORTING.values()), complement=complement, **common)
        if kind == "knowing":
            word = self.choose(["whether", "why", "who", "who"])
            clause = self.clause(plain=word == "who")
            if word == "who":
                clause = self.with_gap(clause, self.choose(["subject", "object"]))
            verb = self.choose(lexicon.KNOWING.values())
            return Clause(verb=verb, complement=Subordinate(word, clause), **common)
        common["time"] = common["front"] = ""
        asked = self.noun_phrase() if kind == "asking" else None
        verb = self.choose((lexicon.ASKING if kind == "asking" else lexicon.TRYING).values())
        action = replace(self.clause(plain=True), subject=None, tense="present", negated=False, time="")
        return Clause(verb=verb, object=asked, complement=Infinitive(action), **common)

    def with_gap(self, clause, role, agreement="third singular"):
        """The clause with one animate argument moved out of it."""
        if role == "object" and clause.indirect and (self.chance(0.6) or not swappable(clause.object)):
            role = "indirect"
        if role == "object" and not (clause.object and swappable(clause.object)):
            role = "subject"
        if role == "subject" and isinstance(clause.object, Pronoun):
            return replace(clause, subject=Gap(agreement), object=self.noun_phrase(simple=True))
        double = clause.double_object and role == "subject"
        return replace(clause, double_object=double, **{role: Gap(agreement)})

    def clause(self, main=False, nested=0, tenses=None, plain=False):
        """A clause of any kind; a ``plain`` one has an active verb, and no adverbial at its front."""
        kinds = {"transitive": 11, "ditransitive": 6, "handling": 2}
        if not plain:
            kinds.update(intransitive=3, passive=3, predicate=3)
        kind = self.weighted(**kinds)
        tense = self.choose(tenses or ["present", "present", "past", "past", "perfect", "can", "must", "will", "want"])
        if kind in ("passive", "predicate") and tense not in SIMPLE_TENSES:
            tense = self.choose(SIMPLE_TENSES)
        subject = self.nominal("subject", nested)
        clause = getattr(self, kind)(subject, tense, nested)
        negatable = kind != "passive" and tense != "must" and getattr(subject, "determiner", "") != "no"
        if negatable and self.chance(0.14) and not has_focus(clause):
            clause = replace(clause, negated=True)
        elif kind != "predicate" and self.chance(0.22):
            clause = replace(clause, place=self.choose(lexicon.PLACES))
        clause = replace(clause, time=self.time(tense, 0.3))
        if main and not plain:
            front = self.choose([name for name in ("time", "place") if getattr(clause, name)] or [""])
            clause = replace(clause, front=front if self.chance(0.5) else "")
        return clause

    def transitive(self, subject, tense, nested):
        verb = self.choose(lexicon.TRANSITIVE.values())
        return Clause(subject, verb, object=self.nominal("object", nested, subject), tense=tense)

    def handling(self, subject, tense, nested):
        verb = self.choose(lexicon.HANDLING.values())
        return Clause(subject, verb, object=self.noun_phrase(nested, thing=True), tense=tense)

    def ditransitive(self, subject, tense, nested):
        verb = self.choose(lexicon.DITRANSITIVE.values())
        thing = verb.german != "stellen" and self.chance(0.5)
        direct = self.noun_phrase(0, thing=True) if thing else self.noun_phrase(nested)
        indirect = self.nominal("object", 0, subject)
        double = verb.double and self.chance(0.5)
        return Clause(subject, verb, object=direct, indirect=indirect, double_object=double, tense=tense)

    def intransitive(self, subject, tense, nested):
        return Clause(subject, self.choose(lexicon.INTRANSITIVE.values()), tense=tense)

    def passive(self, subject, tense, nested):
        agent = self.noun_phrase(nested)
        return Clause(subject, self.choose(PASSIVE), object=agent, tense=tense, passive=True)

    def predicate(self, subject, tense, nested):
        adjective = self.choose(lexicon.CHARACTERS.values())
        than = self.noun_phrase(nested) if adjective.german_comparative and self.chance(0.7) else None
        return Clause(subject, predicate=adjective, than=than, tense=tense)

    def time(self, tense, probability):
        if not self.chance(probability):
            return ""
        if tense == "past":
            return self.choose(["yesterday", "often", "sometimes", "every day", "today"])
        return "today" if tense == "perfect" else self.choose(["today", "now", "often", "sometimes", "every day"])

    def nominal(self, role, nested=0, subject=None):
        """A pronoun, noun phrase, coordination or contrast. ``subject`` rules out "I see me" and "he sees him"."""
        kind = self.weighted(pronoun=12, phrase=80, coordination=5, contrast=4)
        pronouns = {"I", "we", "he", "she", "they"} - {getattr(subject, "english", "")}
        if getattr(subject, "english", "") in ("I", "we"):
            pronouns -= {"I", "we"}
        if kind == "pronoun":
            return Pronoun(self.choose(sorted(pronouns)))
        if kind == "coordination":
            return Coordination(self.noun_phrase(simple=True), self.noun_phrase(simple=True))
        if kind == "contrast":
            return Contrast(self.noun_phrase(simple=True, singular=True), self.noun_phrase(simple=True, singular=True))
        return self.noun_phrase(nested, subject=role == "subject")

    def noun_phrase(self, nested=0, thing=False, simple=False, singular=False, subject=False):
        """A noun phrase; ``nested`` > 0 allows a relative clause, ``simple`` forbids everything after the noun."""
        noun = self.noun(lexicon.THINGS if thing else {**lexicon.PEOPLE, **lexicon.ANIMALS})
        determiner = self.weighted(the=55, a=12, this=8, every=3, possessive=9, counted=9, no=3 if subject else 0)
        if determiner == "possessive":
            determiner = self.choose(lexicon.POSSESSIVES)
        plural = determiner == "counted" or (determiner not in ("a", "every", "no") and self.chance(0.2))
        plural = plural and not singular
        if determiner == "counted":
            determiner = self.choose(lexicon.COUNTED) if plural else "the"
        adjectives = lexicon.QUALITIES if thing else lexicon.CHARACTERS
        count = int(self.weighted(**{"0": 52, "1": 42, "2": 6}))
        chosen = tuple(self.random.sample(list(adjectives.values()), count))
        phrase = NounPhrase(noun, determiner, chosen, plural)
        extra = self.weighted(nothing=70, focus=7, possessor=7, place=6, relative=35 if nested else 0)
        if simple or extra == "nothing":
            return phrase
        if extra == "focus":
            return replace(phrase, focus=self.choose(lexicon.FOCUS)) if determiner in CAN_FOCUS else phrase
        if extra == "place" and subject:
            return replace(phrase, place=self.choose(lexicon.PLACES))
        if extra == "relative":
            return replace(phrase, relative=self.relative(phrase, nested - 1))
        return self.kinship(phrase) if extra == "possessor" and not thing else phrase

    def kinship(self, phrase):
        """ "the sister of the old farmer", or "the old farmer's sister"."""
        determiner = phrase.determiner if phrase.determiner in ("the", "this", "my", "our") else "the"
        plural = phrase.plural and determiner != "this"
        owner = replace(phrase, determiner=determiner, plural=plural)
        head = self.noun(lexicon.RELATIVES)
        return NounPhrase(head, possessor=owner, prenominal=not owner.plural and self.chance(0.4))

    def noun(self, nouns):
        """A noun not yet used in this sentence."""
        entry = self.choose([noun for noun in nouns.values() if noun.english not in self.used])
        self.used.add(entry.english)
        return entry

    def relative(self, phrase, nested):
        """A relative clause about ``phrase``: who sees ..., who ... sees, whose dog ... sees."""
        tenses = ("present", "past", "perfect", "can", "want")
        if phrase.noun.english in lexicon.THINGS:
            clause = self.clause(tenses=tenses, plain=True)
            clause = self.handling(clause.subject, clause.tense, 0)
            return Relative(replace(clause, object=Gap(phrase.agreement)))
        clause = self.clause(nested=nested, tenses=tenses, plain=True)
        clause = replace(clause, negated=False, place="")
        if phrase.noun.human and self.chance(0.12):
            return Relative(replace(clause, subject=NounPhrase(self.noun(lexicon.ANIMALS), "whose")))
        return Relative(self.with_gap(clause, self.choose(["subject", "object"]), phrase.agreement))


def swappable(argument):
    """Whether the argument is an animate noun phrase, which could be both subject and object of the verb."""
    return isinstance(argument, NounPhrase) and argument.noun.english not in lexicon.THINGS


def ambiguous(node):
    """Whether an adverbial at the end of a clause in the tree could also belong to a relative clause before it.

    In "I call the dog that sees the cat today", German must know what happens today.
    """
    if isinstance(node, Clause):
        trailing = any(getattr(node, name) and node.front != name for name in ("time", "place"))
        last = node.indirect if node.indirect and not node.double_object else node.object or node.than
        if trailing and getattr(last, "relative", None):
            return True
    return any(ambiguous(child) for _, child in children(node))


def children(node):
    """(field name, tree) of every tree directly in ``node``; words of the lexicon are not trees."""
    for field in fields(node):
        value = getattr(node, field.name)
        if is_dataclass(value) and not isinstance(value, (Noun, Verb, Adjective)):
            yield field.name, value


def has_focus(clause):
    """Whether a focus particle or a contrast competes with the negation of the clause."""
    arguments = (clause.subject, clause.object, clause.indirect, clause.than)
    return any(isinstance(argument, Contrast) or getattr(argument, "focus", "") for argument in arguments)


def twins(node):
    """Yield each tree that differs from ``node`` by one exchange, with the same English words and another meaning.

    An exchange swaps subject and object, including those of a passive or a comparison; direct and indirect object; or
    a Gap and another argument of its clause ("who sees the man", "who the man sees").
    """
    if isinstance(node, Clause):
        yield from exchanges(node)
    for name, child in children(node):
        for twin in twins(child):
            yield replace(node, **{name: twin})


def exchanges(clause):
    """The clauses that differ from ``clause`` by one exchange of two arguments of equal number."""
    for one, other in (("subject", "object"), ("subject", "than"), ("object", "indirect")):
        first, second = getattr(clause, one), getattr(clause, other)
        movable = all(swappable(item) or isinstance(item, Gap) for item in (first, second))
        if (
            movable
            and first.agreement == second.agreement
            and "whose"
            not in (
                getattr(first, "determiner", ""),
                getattr(second, "determiner", ""),
            )
        ):
            # A moved indirect object would strand its preposition, which is another word order.
            if "indirect" in (one, other) and any(isinstance(item, Gap) for item in (first, second)):
                continue
            yield replace(clause, **{one: second, other: first})
