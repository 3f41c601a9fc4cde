"""List the positional encodings: what they are and act on, their limits and their flags; and what goes with each."""

import json

from fairseq_posenc.encodings import Stack, encoding_class, encoding_names
from fairseq_posenc.encodings.base import HOOKS
from fairseq_posenc.encodings.distances import CHOICES as DISTANCES
from fairseq_posenc.encodings.numbering import CHOICES as NUMBERINGS


def add_arguments(parser):
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args):
    rows = [describe(name) for name in encoding_names()]
    print(json.dumps(rows, indent=2) if args.json else table(rows))


def describe(name):
    """The properties of an encoding as a dict, for the table and for JSON."""
    encoding = encoding_class(name)
    return {
        "name": name,
        "summary": encoding.summary,
        # A dict keeps the order and drops duplicates.
        "acts_on": list(dict.fromkeys(place for hook, place in HOOKS.items() if encoding.overrides(hook))),
        "translation_invariant": encoding.translation_invariant,
        "positions": encoding.numbers,
        "takes_distance": encoding.takes_distance,
        "length_limit": encoding.length_limit,
        "learned_parameters": any(True for _ in encoding(Stack(model_dim=16, heads=2)).parameters()),
        "options": [
            {"flag": option.flag, "default": option.default, "help": option.help}
            for option in encoding.options().values()
        ],
        "source": encoding.source,
    }


def table(rows):
    """One line per encoding, with columns aligned; then the options and the sources, and the numbers of positions."""
    header = ["encoding", "acts on", "translation-invariant", "positions", "length limit", "parameters"]
    lines = [header]
    for row in rows:
        lines.append(
            [
                row["name"],
                ", ".join(row["acts_on"]) or "-",
                "yes" if row["translation_invariant"] else "no",
                row["positions"],
                row["length_limit"] or "none",
                "learned" if row["learned_parameters"] else "fixed",
            ]
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    text.insert(1, "  ".join("-" * width for width in widths))
    for row in rows:
        text += ["", f"{row['name']}: {row['summary']}", f"    source: {row['source']}"]
        text += [f"    {o['flag']}{default(o)}: {o['help']}" for o in row["options"]]
    text += ["", "--positions: other numbers for positions, for encodings that take whole numbers, or any"]
    text += [f"    {n.form}{' (any)' if n.fractions else ''}: {n.help}" for n in NUMBERINGS.classes.values()]
    having = ", ".join(row["name"] for row in rows if row["takes_distance"])
    text += ["", f"--distance: another distance for far keys, for {having}"]
    text += [f"    {d.form}: {d.help}" for d in DISTANCES.classes.values()]
    return "\n".join(text)


def default(option):
    return "" if option["default"] is None else f" (default {option['default']})"
