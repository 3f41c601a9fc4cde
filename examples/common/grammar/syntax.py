"""The trees of the quickstart's grammar: what a sentence says, without the word order of either language."""

from dataclasses import dataclass
from typing import Optional, Union

from examples.common.grammar.words import Adjective, Noun, Verb


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun by its English nominative (I, we, he, she, they), or the question word ``who``."""

    english: str

    @property
    def agreement(self):
        return {"I": "first singular", "we": "first plural", "they": "third plural"}.get(self.english, "third singular")


@dataclass(frozen=True)
class Gap:
    """The position that a relative pronoun or a question word has left, with the agreement of its antecedent."""

    agreement: str = "third singular"


@dataclass(frozen=True)
class NounPhrase:
    """Focus particle, determiner, adjectives, noun, possessor, place and relative clause, in English order.

    ``prenominal`` writes the possessor as "the farmer's sister" instead of "the sister of the farmer".
    """

    noun: Noun
    determiner: str = "the"
    adjectives: tuple = ()
    plural: bool = False
    focus: str = ""
    possessor: Optional["NounPhrase"] = None
    prenominal: bool = False
    place: str = ""
    relative: Optional["Relative"] = None

    @property
    def agreement(self):
        return "third plural" if self.plural else "third singular"


@dataclass(frozen=True)
class Coordination:
    """ "X and Y", which is plural."""

    first: NounPhrase
    second: NounPhrase
    agreement: str = "third plural"


@dataclass(frozen=True)
class Contrast:
    """ "Not X but Y", where the verb agrees with Y."""

    rejected: NounPhrase
    asserted: NounPhrase

    @property
    def agreement(self):
        return self.asserted.agreement


Nominal = Union[Pronoun, Gap, NounPhrase, Coordination, Contrast]


@dataclass(frozen=True)
class Clause:
    """One verb with its arguments.

    ``tense`` is present, past, perfect, or a modal (can, must, should, will, want). ``front`` is what begins a main
    clause: "" for the subject, "time" or "place". A clause without ``verb`` has an adjective as its ``predicate``,
    which is a comparative if ``than`` is given. ``subject`` is None in an infinitive clause.
    """

    subject: Optional[Nominal]
    verb: Optional[Verb] = None
    object: Optional[Nominal] = None
    indirect: Optional[Nominal] = None
    tense: str = "present"
    passive: bool = False
    negated: bool = False
    double_object: bool = False
    time: str = ""
    place: str = ""
    front: str = ""
    predicate: Optional[Adjective] = None
    than: Optional[Nominal] = None
    complement: Optional[Union["Subordinate", "Infinitive"]] = None


@dataclass(frozen=True)
class Subordinate:
    """A clause after a conjunction ("because", "that", "when", ...) or an indirect question ("who", "why").

    With ``who``, the clause has a Gap in the position of the answer.
    """

    conjunction: str
    clause: Clause


@dataclass(frozen=True)
class Infinitive:
    """ "... to visit the boy": a clause without a subject."""

    clause: Clause


@dataclass(frozen=True)
class Relative:
    """A relative clause: the clause has a Gap, or a subject with the determiner ``whose``."""

    clause: Clause


@dataclass(frozen=True)
class Statement:
    """A main clause with a subordinate clause before it, after it, or neither."""

    clause: Clause
    before: Optional[Subordinate] = None
    after: Optional[Subordinate] = None


@dataclass(frozen=True)
class Compound:
    """Two main clauses joined by and, but, or."""

    first: Clause
    conjunction: str
    second: Clause


@dataclass(frozen=True)
class Question:
    """A yes/no question (``word`` empty), "who" with a Gap in the clause, or "why"/"where"."""

    clause: Clause
    word: str = ""


def gap_role(clause):
    """Which argument of the clause is the Gap: "subject", "object", "indirect" or ""."""
    return next((role for role in ("subject", "object", "indirect") if isinstance(getattr(clause, role), Gap)), "")
