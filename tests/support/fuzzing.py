"""Random examples by hypothesis: a few, always the same ones, in the fast suite; many new ones in the slow one."""

import copy

from hypothesis import settings
from hypothesis import strategies as st

from fairseq_posenc.errors import InputError

#: How many times as many examples the slow suite has.
SLOW = 20

settings.register_profile("fast", deadline=None, derandomize=True, database=None)
settings.register_profile("slow", deadline=None, database=None, print_blob=True)


def examples(count):
    """A decorator: so many examples in the fast suite."""
    return settings(max_examples=count * (1 if settings.get_current_profile_name() == "fast" else SLOW))


def is_refused(function, *arguments, names="", **options):
    """Whether this raises InputError, which must be one line with ``names`` in it. Other exceptions pass through."""
    try:
        function(*arguments, **options)
    except InputError as error:
        assert len(str(error)) > 10 and len(str(error).splitlines()) == 1 and str(names) in str(error), str(error)
        return True
    return False


def near(*forms):
    """Text that is nearly one of these: a few of their characters replaced, taken out or doubled, or another number."""
    number = st.one_of(
        st.integers(-3, 70).map(str),
        st.sampled_from(["0.5", "1e3", "1e400", "nan", "inf", "-0", "9" * 30, "9" * 5000, "1_0", "٣", "", " 4", "+4"]),
    )

    @st.composite
    def changed(draw):
        text = "".join(draw(number) if letter.isupper() else letter for letter in draw(st.sampled_from(forms)))
        for _ in range(draw(st.integers(0, 2))):
            place = draw(st.integers(0, len(text)))
            width = draw(st.integers(0, 2))
            text = text[:place] + draw(st.one_of(st.just(""), st.text(max_size=2))) + text[place + width :]
        return text

    return st.one_of(changed(), st.text(max_size=20))


def any_json():
    """Values that a JSON file may hold, among them those that are no JSON to others: NaN and infinities."""
    numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([0, -1, 10**400, 1e300]))
    plain = st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=5))
    return st.recursive(
        plain,
        lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
        max_leaves=3,
    )


@st.composite
def damaged_json(draw, record):
    """A copy of ``record`` in which one to three values are others, are gone or are there twice."""
    record = copy.deepcopy(record)
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(places(record)))
        change = draw(st.sampled_from(["other", "gone", "twice"]))
        if change == "other":
            holder[key] = draw(any_json())
        elif change == "gone":
            del holder[key]
        elif isinstance(holder, list):
            holder.append(holder[key])
        if not places(record):
            break
    return record


def places(record):
    """[(dictionary or list, key or index)] of all values in a record."""
    if not isinstance(record, (dict, list)):
        return []
    keys = list(record) if isinstance(record, dict) else range(len(record))
    return [(record, key) for key in keys] + [place for key in keys for place in places(record[key])]


@st.composite
def damaged_bytes(draw, data):
    """``data`` with its end cut off, or with one to three pieces of it replaced."""
    if draw(st.booleans()):
        return data[: draw(st.integers(0, len(data)))]
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(data)))
        new = draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b"9" * 5000, b"-", b"\t", b"\n", b"1e999", b"nan", b"0"]))
        )
        data = data[:place] + new + data[place + draw(st.integers(0, 4)) :]
    return data
