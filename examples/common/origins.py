"""Systems that go on from another one, with another encoding: the column ``from`` of a row file, NAME:SHARE.

SHARE is the length of this training divided by that of the one before.
"""

from dataclasses import dataclass

from fairseq_posenc.errors import InputError

#: Options of a schedule that count updates or epochs.
COUNTS = (
    *("--max-update", "--max-epoch", "--total-num-update", "--warmup-updates"),
    *("--save-interval-updates", "--validate-interval-updates"),
)


@dataclass(frozen=True)
class Origin:
    """The system ``name``, from which another one goes on for a ``share`` of its updates."""

    name: str
    share: float

    def schedule(self, schedule):
        """The same options of fairseq-train for this share of the updates, each at least once."""
        shorter = list(schedule)
        for place, option in enumerate(schedule):
            if option in COUNTS:
                shorter[place + 1] = str(max(1, int(self.share * int(schedule[place + 1]))))
        return shorter

    def options(self, folder):
        """Those that name the checkpoint; ``folder``: of the system."""
        return ["--finetune-from-model", folder / "checkpoints" / "checkpoint_last.pt"]

    def __str__(self):
        return f"from {self.name}:{self.share:g}"


def going_on(origin, before, schedule, inputs):
    """(schedule, further options, inputs) of a training run.

    Args:
        origin: the Origin of its system, or None.
        before: folder of the system from which it goes on, or None.
        schedule, inputs: of a run that begins anew.
    """
    if origin is None:
        return schedule, [], inputs
    return origin.schedule(schedule), origin.options(before), (*inputs, before / "checkpoints")


def origin_of(row):
    """The Origin of a system, or None.

    Raises:
        InputError: the cell is not NAME:SHARE with a share between 0 and 1.
    """
    if not row.get("from"):
        return None
    name, _, share = row["from"].partition(":")
    try:
        origin = Origin(name, float(share))
    except ValueError:
        origin = Origin(name, 0)
    if not 0 < origin.share <= 1:
        raise InputError(f"from {row['from']}: write NAME:SHARE, a system and a share of its updates such as 0.125")
    return origin


def origin_names(known):
    """The names of the systems from which others go on."""
    return {origin.name for origin in map(origin_of, known.values()) if origin}


def with_origins(rows, known):
    """The systems ``rows`` and those from which they go on, which come before them; all are {name: row}."""
    found = {}

    def add(name, row, path=()):
        origin = origin_of(row)
        if origin and (origin.name not in known or origin.name in (*path, name)):
            raise InputError(f"{name} goes on from {origin.name}, which is no other system of its row file")
        if origin:
            add(origin.name, known[origin.name], (*path, name))
        found[name] = row

    for name, row in rows.items():
        add(name, row)
    return found
