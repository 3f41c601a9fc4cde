"""--positions: what is drawn, what is refused, and hooks at numbers that are neither consecutive nor whole."""

import pytest
import torch

from fairseq_posenc.encodings import Stack, encoding_class, encoding_names
from fairseq_posenc.encodings.base import ANY, CONSECUTIVE, WHOLE
from fairseq_posenc.encodings.numbering import numbering
from fairseq_posenc.encodings.positions import PADDING, Positions, token_positions
from fairseq_posenc.errors import InputError
from tests.support.encodings import CASES, VARIANTS, products

HEADS, HEAD_DIM = 3, 4
CPU = torch.device("cpu")
#: Of two sentences.
WHOLE_NUMBERS = [[3, 4, 9, 11, 30], [0, 2, 3, 40, 41]]
FRACTIONS = [[-1.25, 0.5, 0.75, 2.5, 30.125], [0.0, 0.1, 1.0, 7.5, 8.0]]
TAKING = {
    kind: [name for name in encoding_names() if encoding_class(name).numbers in kinds]
    for kind, kinds in (("whole", (WHOLE, ANY)), ("any", (ANY,)))
}
#: Methods of --rope-scaling that go by the length of a text.
BY_LENGTH = ("dynamic-ntk", "longrope")
CHOICES = [
    (name, options, kind)
    for kind in ("whole", "fractions")
    for name, options in VARIANTS
    if name in TAKING["whole" if kind == "whole" else "any"] and options.get("scaling") not in BY_LENGTH
]


def build(name, causal=True, options=None):
    torch.manual_seed(0)
    stack = Stack(HEADS * HEAD_DIM, HEADS, max_positions=64, causal=causal, first_row=2)
    options = CASES[name].options if options is None else options
    encoding = encoding_class(name)(stack, **options).double().eval()
    encoding.test_options = options
    return encoding


def positions_of(numbers):
    index = torch.tensor(numbers)
    return Positions(index if index.dtype == torch.int64 else index.double(), int(index.max()) + 1)


@pytest.mark.parametrize("causal", [True, False], ids=["decoder", "encoder"])
@pytest.mark.parametrize(("name", "options", "kind"), CHOICES, ids=str)
def test_hooks_equal_references(name, options, kind, causal):
    """Each sentence with its own numbers, and both with the same; also the last query alone, as in decoding."""
    encoding, case = build(name, causal, options), CASES[name]
    numbers = WHOLE_NUMBERS if kind == "whole" else FRACTIONS
    x = torch.randn(2, 5, HEADS * HEAD_DIM, dtype=torch.float64)
    heads = x.view(2, 5, HEADS, HEAD_DIM).transpose(1, 2)
    for rows in (numbers, numbers[:1]):
        positions = positions_of(rows)
        if case.embed:
            expected = torch.stack([case.embed(encoding, each, row) for each, row in zip(x, rows * 2)])
            torch.testing.assert_close(encoding.embed(x, positions), expected, atol=case.tolerance, rtol=0)
        if case.values:
            expected = torch.stack(
                [
                    torch.stack([case.values(encoding, v, n) for v, n in zip(each.transpose(0, 1), row)], dim=1)
                    for each, row in zip(heads, rows * 2)
                ]
            )
            torch.testing.assert_close(encoding.values(heads, positions), expected)
        if encoding.compares():
            for first in (0, 4):
                assert_compared(encoding, case, heads, rows * 2, positions, first)


def assert_compared(encoding, case, heads, rows, positions, first):
    """Scores and outputs of the queries from ``first`` on."""
    q_idx, kv_idx = positions.columns(range(first, 5)), positions.columns(range(5))
    q, k = encoding.rotate(heads[:, :, first:], heads, q_idx, kv_idx)
    q, k = encoding.decay(q, k, q_idx, kv_idx)
    scores = products(encoding, q, k, q_idx, kv_idx)
    bias = encoding.bias(q_idx, kv_idx, CPU)
    if bias is not None:
        assert bias.dtype == torch.float32 and bias.is_contiguous() and bias.size(0) == len(positions.index)
        scores = scores + bias
    if encoding.stack.causal:
        scores = scores.masked_fill(torch.ones(5, 5).triu(1)[first:].bool(), float("-inf"))
    weights = scores.softmax(-1)
    outputs = encoding.mix(weights, heads, q_idx, kv_idx)
    expected, mixed = torch.full_like(scores, float("-inf")), torch.zeros_like(outputs)
    for b in range(2):
        for row, i in enumerate(range(first, 5)):
            for j in range(i + 1 if encoding.stack.causal else 5):
                n, m, k = rows[b][i], rows[b][j], heads[b, :, j]
                score = case.score(encoding, heads[b, :, i], k, n, m) if case.score else (heads[b, :, i] * k).sum(-1)
                if case.bias:
                    score = score + torch.tensor(case.bias(encoding, n - m), dtype=torch.float64)
                expected[b, :, row, j] = score
                mixed[b, :, row] += weights[b, :, row, j, None] * (case.mix(encoding, k, n, m) if case.mix else k)
    torch.testing.assert_close(scores, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(outputs, mixed, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", TAKING["whole"])
def test_gradients_reach_every_parameter(name):
    encoding, positions = build(name), positions_of(WHOLE_NUMBERS)
    x = torch.randn(2, 5, HEADS * HEAD_DIM, dtype=torch.float64, requires_grad=True)
    heads = x.view(2, 5, HEADS, HEAD_DIM).transpose(1, 2)
    q, k = encoding.rotate(heads, heads, positions, positions)
    q, k = encoding.extend(q, k, x, None)
    scores = encoding.scores(q, k, positions, positions)
    bias = encoding.bias(positions, positions, CPU)
    weights = (scores if bias is None else scores + bias).softmax(-1)
    mixed = encoding.mix(weights, encoding.values(heads, positions), positions, positions)
    (encoding.embed(x, positions).pow(2).sum() + mixed.pow(2).sum()).backward()
    for parameter_name, parameter in encoding.named_parameters():
        assert parameter.grad.abs().sum() > 0, parameter_name


PADDED = token_positions(torch.tensor([[1, 1, 0, 0, 0], [0, 0, 0, 0, 0]]).bool())


def numbers_of(text, positions=PADDED, batch=2):
    torch.manual_seed(3)
    made = numbering(text)
    length = positions.index.size(1)
    return made.number(positions, batch, made.draw(length, CPU))


def test_shift_moves_sentences_apart():
    offsets = set()
    for seed in range(60):
        torch.manual_seed(seed)
        found = numbering("shift:7").number(PADDED, 2, None)
        moved = found.index - PADDED.index
        assert found.index[0, :2].eq(PADDING).all() and found.stop == 5 + 6
        assert len(set(moved[0, 2:].tolist())) == len(set(moved[1].tolist())) == 1
        offsets.add((moved[0, 2].item(), moved[1, 0].item()))
    assert {k for k, _ in offsets} == {k for _, k in offsets} == set(range(7)) and len(offsets) > 7


def test_random_is_one_sorted_sample_for_all():
    seen = set()
    for seed in range(60):
        torch.manual_seed(seed)
        made = numbering("random:9")
        found = made.number(PADDED, 2, made.draw(5, CPU))
        assert found.index[0, :2].eq(PADDING).all() and found.stop == 9
        assert found.index[0, 2:].tolist() == found.index[1, :3].tolist()
        assert found.index[1].diff().gt(0).all() and found.index[1, 0] >= 0 and found.index[1, -1] < 9
        seen.update(found.index[1].tolist())
    assert seen == set(range(9))
    assert numbers_of("random:5").index[1].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="random:4 has 4 numbers, but the text has 5 tokens; give a larger N"):
        numbers_of("random:4")


def test_random_numbers_of_an_open_end_are_the_first_of_more():
    """Of 6 numbers, 5 or all 6 are drawn, equally often; 5 of them are 0 .. 4 once in 6 times."""
    consecutive, others = 0, set()
    for seed in range(600):
        torch.manual_seed(seed)
        found = numbering("random:6").draw(5, CPU, open_end=True).tolist()
        assert found == sorted(set(found)) and len(found) == 5
        consecutive += found == [0, 1, 2, 3, 4]
        others.add(*set(range(6)).difference(found))
    assert 310 < consecutive < 390 and others == set(range(6))  # 350 expected, with a deviation of 12


def test_continuous():
    consecutive = Positions.consecutive(0, 6, CPU)
    torch.manual_seed(0)
    drawn = [numbering("continuous").number(consecutive, 2, None) for _ in range(400)]
    assert all(found.index.dtype == torch.float64 and found.index.max() < found.stop for found in drawn)
    index = torch.cat([found.index for found in drawn])
    assert index.diff(dim=1).gt(0).all()  # tokens keep their order
    assert -5.5 * 1.03 < index[:, 0].min() < -5 and 5 < index[:, 0].max() < 5.5 * 1.03
    slopes = (index[:, -1] - index[:, 0]) / 5
    assert 0.9 > slopes.min() > (5 - 1) / 5 / 1.03 and 1.1 < slopes.max() < (5 + 1) / 5 * 1.03
    alone = numbering("continuous:2,0,1").number(consecutive, 3, None).index
    torch.testing.assert_close(alone - alone[:, :1], torch.arange(6.0).double().expand(3, -1))
    stretched = numbering("continuous:0,0,4").number(consecutive, 200, None).index
    torch.testing.assert_close(stretched, stretched[:, 1:2] * torch.arange(6.0).double())
    assert 0.25 <= stretched[:, 1].min() < 0.3 and 3.3 < stretched[:, 1].max() <= 4
    assert numbers_of("continuous").index[0, :2].eq(PADDING).all()


def test_scale():
    found = numbers_of("scale:4")
    assert found.index[1].tolist() == [0, 0.25, 0.5, 0.75, 1] and found.stop == 2
    assert found.index[0].tolist() == [PADDING, PADDING, 0, 0.25, 0.5]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("index", "index"),
        ("shift:500", "shift:500"),
        ("random:2048", "random:2048"),
        ("continuous", "continuous:5,0.5,1.03"),
        ("continuous:2", "continuous:2,0.5,1.03"),
        ("scale:1.5", "scale:1.5"),
    ],
)
def test_names(text, name):
    assert str(numbering(text)) == name == str(numbering(name)) and numbering(numbering(name)) == numbering(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("shif:5", r"must be one of index, shift:K, .* but is shif:5 \(did you mean shift\?\)"),
        ("shift", "shift: write shift:K, each letter a whole number"),
        ("random:2.5", "random:2.5: write random:N, each letter a whole number"),
        ("scale:x", "scale:x: write scale:S, each letter a number"),
        ("index:3", "write index"),
        ("shift:0", "--positions shift:0: K must be between 1 and"),
        ("scale:0", "S must be between"),
        ("scale:nan", "S must be between"),
        ("continuous:5,0.7", "E, beyond which tokens change places, must be between 0 and 0.5, but is 0.7"),
        ("continuous:1,0,0.5", "R must be between 1 and"),
        ("continuous:1,2,3,4", "write continuous"),
    ],
)
def test_bad_names_are_refused(text, told):
    with pytest.raises(InputError, match=told) as caught:
        numbering(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", encoding_names())
def test_what_encodings_take(name):
    """Fractions no tables; shifts all; an encoding of distances does not even draw them."""
    encoding = build(name)
    for text, kinds in (("random:9", (WHOLE, ANY)), ("continuous", (ANY,)), ("scale:2", (ANY,))):
        if encoding.numbers in kinds:
            numbering(text).check(encoding)
        else:
            with pytest.raises(InputError, match=f"--positions {text}.*: {name} has nothing"):
                numbering(text).check(encoding)
    if encoding.numbers != CONSECUTIVE or encoding.translation_invariant:
        numbering("shift:9").check(encoding)
    assert numbering("shift:9").acts(encoding, training=True) != encoding.translation_invariant
    assert not numbering("shift:9").acts(encoding, training=False)
    assert numbering("random:9").acts(encoding, training=False)


def test_limits_of_tables():
    encoding = build("learned")
    numbering("shift:64").check(encoding)
    with pytest.raises(InputError, match="shift:65 leaves no room for a text within the 64 positions of learned"):
        numbering("shift:65").check(encoding)
    with pytest.raises(InputError, match="random:65 exceeds the 64 positions of learned .*give random:64 or less"):
        numbering("random:65").check(encoding)
    assert numbering("shift:60").longest(64) == 5 and numbering("shift:60").longest(None) is None
    assert numbering("random:60").longest(64) == numbering("random:60").longest(None) == 60


def test_frequencies_that_go_by_the_length_of_a_text_need_consecutive_positions():
    options = {"scaling": "dynamic-ntk", "scaling_factor": 2.0, "original_length": 40}
    with pytest.raises(InputError, match="--positions scale:2: rope has nothing but for consecutive positions"):
        numbering("scale:2").check(build("rope", options=options))
