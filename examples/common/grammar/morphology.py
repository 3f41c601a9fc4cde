"""German inflection: articles, adjective endings, nouns, pronouns and finite verbs."""

from examples.common.grammar.lexicon import COUNTED, POSSESSIVES

# Columns: masculine, feminine, neuter, plural.
_COLUMNS = {"m": 0, "f": 1, "n": 2, "plural": 3}
_DEFINITE = {
    "nominative": "der die das die",
    "accusative": "den die das die",
    "dative": "dem der dem den",
    "genitive": "des der des der",
}
_DIES = {
    "nominative": "er e es e",
    "accusative": "en e es e",
    "dative": "em er em en",
    "genitive": "es er es er",
}
_EIN = {
    "nominative": "- e - e",
    "accusative": "en e - e",
    "dative": "em er em en",
    "genitive": "es er es er",
}
_WEAK = {
    "nominative": "e e e en",
    "accusative": "en e e en",
    "dative": "en en en en",
    "genitive": "en en en en",
}
_MIXED = {
    "nominative": "er e es en",
    "accusative": "en e es en",
    "dative": "en en en en",
    "genitive": "en en en en",
}
_STRONG = {
    "nominative": "er e es e",
    "accusative": "en e es e",
    "dative": "em er em en",
    "genitive": "en er en er",
}
_RELATIVE = {
    "nominative": "der die das die",
    "accusative": "den die das die",
    "dative": "dem der dem denen",
    "genitive": "dessen deren dessen deren",
}
_PRONOUNS = {
    "I": ("ich", "mich", "mir"),
    "we": ("wir", "uns", "uns"),
    "he": ("er", "ihn", "ihm"),
    "she": ("sie", "sie", "ihr"),
    "they": ("sie", "sie", "ihnen"),
    "who": ("wer", "wen", "wem"),
}
_CASES = ("nominative", "accusative", "dative")

# Auxiliaries and modals: first singular, third singular, plural.
_AUXILIARIES = {
    "haben": ("habe", "hat", "haben"),
    "sein": ("bin", "ist", "sind"),
    "sein past": ("war", "war", "waren"),
    "werden": ("werde", "wird", "werden"),
    "werden past": ("wurde", "wurde", "wurden"),
    "can": ("kann", "kann", "können"),
    "must": ("muss", "muss", "müssen"),
    "should": ("sollte", "sollte", "sollten"),
    "will": ("werde", "wird", "werden"),
    "want": ("will", "will", "wollen"),
}


def _cell(table, case, gender):
    ending = table[case].split()[_COLUMNS[gender]]
    return "" if ending == "-" else ending


def determiner(english, case, gender):
    """The German determiner for an English one; ``gender`` is m, f, n or plural."""
    if english == "the":
        return _cell(_DEFINITE, case, gender)
    if english in ("this", "every"):
        return {"this": "dies", "every": "jed"}[english] + _cell(_DIES, case, gender)
    if english in COUNTED:
        word = COUNTED[english]
        return word[:-1] + _cell(_STRONG, case, gender) if word.endswith("e") else word
    stem = {"a": "ein", "no": "kein", **POSSESSIVES}[english]
    return stem + _cell(_EIN, case, gender)


def adjective(entry, english_determiner, case, gender):
    """The attributive adjective: weak after der-words, mixed after ein-words, strong after numbers."""
    if english_determiner in ("the", "this", "every"):
        table = _WEAK
    elif english_determiner in COUNTED:
        table = _STRONG
    else:
        table = _MIXED
    return entry.stem + _cell(table, case, gender)


def noun(entry, plural, case):
    """The noun in number and case, with the -n of the dative plural and the endings of weak nouns."""
    if plural:
        form = entry.german_plural
        return form + "n" if case == "dative" and form[-1] not in "ns" else form
    if case == "genitive":
        return entry.german_genitive
    return entry.german_genitive if entry.weak and case != "nominative" else entry.german


def relative_pronoun(case, gender):
    """der, den, dem, denen, dessen, ..."""
    return _cell(_RELATIVE, case, gender)


def pronoun(english, case):
    """The personal pronoun, or wer/wen/wem for "who"."""
    return _PRONOUNS[english][_CASES.index(case)]


def auxiliary(name, agreement):
    """A finite form of haben, sein, werden or a modal."""
    first, third, plural = _AUXILIARIES[name]
    return {"first singular": first, "third singular": third}.get(agreement, plural)


def present(verb, agreement):
    """The present tense, without a separable prefix."""
    if agreement == "third singular":
        return verb.german_third
    if agreement == "first singular":
        if verb.german == "wissen":
            return verb.german_third
        return verb.german[: -2 if verb.german.endswith("en") else -1] + "e"
    return verb.german


def past(verb, agreement):
    """The simple past, without a separable prefix."""
    form = verb.german_past
    if agreement in ("first singular", "third singular"):
        return form
    return form + ("n" if form.endswith("e") else "en")
