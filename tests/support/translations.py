"""A few references, a good and a poor translation of them, and fairseq-generate's form of any."""

REFERENCES = [
    "Der Mann, der den alten Hund sieht, lacht.",
    "Wir haben gestern ein gutes Buch gelesen.",
    "Das Kind spielt im Garten mit dem roten Ball.",
    "Sie kommt morgen mit ihrer Schwester an.",
]
GOOD = [REFERENCES[0], "Wir haben gestern ein Buch gelesen.", REFERENCES[2], "Sie kommt mit ihrer Schwester an."]
POOR = ["Mann Hund sieht lacht.", "Wir gelesen Buch gestern.", "Kind spielt Ball mit dem Garten.", ""]


def generated(hypotheses, references, detokenized=None):
    lines = []
    for number in reversed(range(len(hypotheses))):
        lines += [f"S-{number}\tsource", f"T-{number}\t{references[number]}", f"H-{number}\t-0.5\t{hypotheses[number]}"]
        lines += [f"D-{number}\t-0.5\t{(detokenized or hypotheses)[number]}"]
        lines += [f"H-{number}\t-0.9\tsecond", f"D-{number}\t-0.9\tsecond"]
    return lines
