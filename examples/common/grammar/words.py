"""Nouns, verbs and adjectives of the quickstart's grammar; reads the tables of ``lexicon``, with one entry per line."""

from dataclasses import dataclass

GENDERS = {"der": "m", "die": "f", "das": "n"}


@dataclass(frozen=True)
class Noun:
    """English singular and plural; German nominative singular and plural, genitive singular and gender.

    ``weak`` nouns (der Junge, den Jungen) have an ending in every case except the nominative singular.
    """

    english: str
    english_plural: str
    german: str
    german_plural: str
    german_genitive: str
    gender: str
    weak: bool
    human: bool


@dataclass(frozen=True)
class Verb:
    """English base, third person, past, participle; German infinitive, third person, past, participle.

    Only the German participle includes the separable ``prefix``. ``case`` is the case of the only object;
    ``auxiliary`` forms the perfect. ``preposition`` marks the English indirect object ("gives it TO him"), and
    ``double`` says whether English allows "gives him it".
    """

    english: str
    english_third: str
    english_past: str
    english_participle: str
    german: str
    german_third: str
    german_past: str
    german_participle: str
    prefix: str = ""
    case: str = "accusative"
    auxiliary: str = "haben"
    preposition: str = ""
    double: bool = False


@dataclass(frozen=True)
class Adjective:
    """English and German base form, the German stem before endings, and the comparatives ("" where unused)."""

    english: str
    german: str
    stem: str
    english_comparative: str = ""
    german_comparative: str = ""


def _lines(table):
    return [line.split() for line in table.strip().splitlines()]


def nouns(table, human):
    """{English: Noun} from lines: singular, plural, article, German singular, plural, genitive, optionally "weak"."""
    entries = {}
    for english, plural, article, german, german_plural, genitive, *weak in _lines(table):
        entries[english] = Noun(english, plural, german, german_plural, genitive, GENDERS[article], bool(weak), human)
    return entries


OPTIONS = {"dative": {"case": "dative"}, "sein": {"auxiliary": "sein"}, "double": {"double": True}}


def verbs(table, **common):
    """{English: Verb} from lines: four English forms, four German ones (prefix+infinitive), OPTIONS; _ is a space."""
    entries = {}
    for row in _lines(table):
        english, german, options = row[:4], row[4:8], row[8:]
        prefix, _, infinitive = german[0].rpartition("+")
        extra = dict(common, prefix=prefix)
        for option in options:
            extra.update(OPTIONS[option])
        forms = [form.replace("_", " ") for form in english] + [infinitive] + german[1:]
        entries[forms[0]] = Verb(*forms, **extra)
    return entries


def adjectives(table):
    """{English: Adjective} from lines: English, German, stem, optionally both comparatives."""
    return {row[0]: Adjective(*row) for row in _lines(table)}
