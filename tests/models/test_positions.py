"""--positions in whole models: left padding, steps, recomputation, patterns, limits and checkpoints."""

from argparse import Namespace

import pytest
import torch

from fairseq_posenc.analysis.language_model import LanguageModel
from fairseq_posenc.attention import computation
from fairseq_posenc.attention.computation import Sizes
from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.encodings.base import ANY
from fairseq_posenc.encodings.numbering import INDEX, Random
from fairseq_posenc.errors import InputError
from fairseq_posenc.generation.stepwise import Stepwise
from fairseq_posenc.models.options import settle_distance, settle_numbering, settle_scale
from tests.support.host_reads import reads
from tests.support.models import batch, build_small, build_small_lm, text

#: Every way in which encodings use numbers.
KINDS = [
    "sinusoidal",
    "learned",
    "posnet-embed",
    "posnet-attn",
    "shaw",
    "t5",
    "adaptive-t5",
    "sandwich",
    "rope",
    "xpos",
]
CHOICES = [
    (name, positions)
    for name in KINDS
    for positions in ("shift:20", "random:40", "continuous:5,0", "scale:2.5")
    if encoding_class(name).numbers == ANY or positions in ("shift:20", "random:40")
]
choices = pytest.mark.parametrize(("name", "positions"), CHOICES, ids=lambda value: value)


def seeded(run, seed=5):
    torch.manual_seed(seed)
    return run()


def without_dropout(model):
    """A model in training mode that drops nothing."""
    for module in model.train().modules():
        if hasattr(module, "p"):
            module.p = 0.0
    return model


@pytest.mark.parametrize("name", KINDS)
def test_numbers_that_are_the_index(name):
    """Where a choice leaves 0, 1, 2, .., nothing changes: hooks give at numbers what they give at ranges."""
    plain = without_dropout(build_small(name))
    expected = plain(**batch())[0]
    for positions in ("shift:1", "random:6", "continuous:0,0,1", "scale:1"):
        if encoding_class(name).numbers != ANY and positions[0] in "cs" and positions != "shift:1":
            continue
        model = without_dropout(build_small(name, "--positions", positions))
        model.load_state_dict(plain.state_dict())
        found = seeded(lambda: model(**batch())[0])  # noqa: B023
        torch.testing.assert_close(found, expected, atol=2e-5, rtol=0, msg=positions)


@choices
def test_padding_on_the_left(name, positions):
    """With the same draw, the same logits as with padding on the right; and no more host reads."""
    model = without_dropout(build_small(name, "--positions", positions))
    left, right = (batch(left_pad_source=side, left_pad_target=side) for side in (True, False))
    found, expected = (seeded(lambda: model(**given)[0]) for given in (left, right))  # noqa: B023
    found, expected = (out[given["prev_output_tokens"] != 1] for out, given in ((found, left), (expected, right)))
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=0)
    assert reads(lambda: model(**left)[0].sum().backward()).total() <= 2 * 2


@choices
def test_what_is_drawn_when(name, positions):
    """Training draws at every pass, unless shifts cannot matter; evaluation only random samples."""
    model = without_dropout(build_small(name, "--positions", positions))
    first, second = (seeded(lambda: model(**batch())[0], seed) for seed in (1, 2))  # noqa: B023
    moves = not (positions == "shift:20" and encoding_class(name).translation_invariant)
    assert torch.equal(first, second) != (moves and positions != "scale:2.5")
    model.eval()
    first, second = (seeded(lambda: model(**batch())[0], seed) for seed in (1, 2))  # noqa: B023
    assert torch.equal(first, second) != (moves and positions == "random:40")
    index = build_small(name)
    index.load_state_dict(model.state_dict())
    assert torch.equal(index(**batch())[0], first) == (positions in ("shift:20", "continuous:5,0"))


@pytest.mark.parametrize(
    ("name", "positions"),
    [("posnet-embed", "shift:20"), ("adaptive-t5", "random:40"), ("sinusoidal", "continuous"), ("rope", "continuous")],
)
def test_recomputed_layers_see_the_same_numbers(name, positions):
    gradients = []
    for flags in ((), ("--checkpoint-activations",)):
        model = build_small_lm(name, "--positions", positions, "--max-target-positions", 64, *flags).double().train()
        seeded(lambda: model(text())[0].pow(2).sum().backward())  # noqa: B023
        gradients.append({n: p.grad for n, p in model.named_parameters()})
    for parameter, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][parameter], gradient, atol=1e-6, rtol=1e-6, msg=parameter)


@pytest.mark.parametrize("pattern", ["full", "window:5", "blockwise:8", "sinks:2,window:4"])
@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize(("name", "positions"), [c for c in CHOICES if c[1] in ("random:40", "scale:2.5")])
def test_steps_equal_one_pass(name, positions, left, pattern):
    """A whole vector is drawn before the first step: for as many tokens as the text has, here."""
    flags = ["--max-target-positions", 40 if name == "learned" else 22, "--attention-pattern", pattern]
    model, tokens = build_small_lm(name, "--positions", positions, *flags).eval(), text((22, 9, 15), left=left)
    with torch.no_grad():
        whole = seeded(lambda: model(tokens)[0])
        torch.manual_seed(5)
        state, steps = {}, []
        model.decoder.begin_hypotheses(state, 22, tokens.device)
        for end in (7, 8, 9, 13, *range(14, 23)):
            steps.append(model.decoder(tokens[:, :end], incremental_state=state)[0])
        real = tokens != 1
        torch.testing.assert_close(torch.cat(steps, dim=1)[real], whole[real], atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["rope", "learned"])
def test_beam_search_draws_once(name):
    """The scores of a finished hypothesis are those of one pass with the numbers that the search has drawn."""
    model = build_small(name, "--positions", "random:1024").eval()
    stepwise = Stepwise([model], [None], 1.0, False, longest=30, device=torch.device("cpu"))
    sample = batch(lengths=(5, 4), target_lengths=(6, 6))
    stepwise.sources = [model.encoder(sample["src_tokens"], sample["src_lengths"])]
    tokens = sample["prev_output_tokens"]
    drawn = model.decoder.get_incremental_state(stepwise._caches[0], "drawn_positions")["drawn"]
    assert len(drawn) == 30
    with torch.no_grad():
        steps = torch.cat([stepwise.read(tokens[:, :end]).features[0] for end in range(1, 7)], dim=1)
        state = {}
        model.decoder.set_incremental_state(state, "drawn_positions", {"drawn": drawn})
        whole = model.decoder.extract_features(tokens, stepwise.sources[0], state)[0]
    torch.testing.assert_close(steps, whole, atol=1e-5, rtol=0)


def test_only_decoders_draw_for_an_open_end(monkeypatch):
    """An encoder sees where its text ends; a decoder must not, in a pass as in steps."""
    drawn, draw = [], Random.draw
    monkeypatch.setattr(Random, "draw", lambda *args, **kwargs: drawn.append(kwargs) or draw(*args, **kwargs))
    model, open_end = build_small("rope", "--positions", "random:40"), {"open_end": True}
    model(**batch())
    assert drawn == [{}, open_end]
    model.decoder.begin_hypotheses({}, 30, torch.device("cpu"))
    build_small_lm("rope", "--positions", "random:40")(text())
    assert drawn == [{}, open_end, open_end, open_end]


@pytest.mark.parametrize("positions", ["random:40", "continuous"])
@pytest.mark.parametrize("name", ["alibi", "kerple-log", "rope", "xpos", "shaw"])
def test_slices(name, positions, monkeypatch):
    """What is too large to be taken whole has the same results and gradients in slices that are built anew."""
    if positions == "continuous" and encoding_class(name).numbers != ANY:
        return
    model, tokens = build_small_lm(name, "--positions", positions).double().train(), text((13, 9), left=True)

    def results():
        out = seeded(lambda: model(tokens)[0])[tokens != 1]
        return [out, *torch.autograd.grad(out.pow(2).sum(), list(model.parameters()))]

    whole = results()
    monkeypatch.setattr(computation, "CPU", Sizes(whole=50, slice=100, keys=200))
    for found, expected in zip(results(), whole):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)


def test_lengths():
    """Tables leave room for what is added; a sample holds no more tokens than numbers."""
    shifted = build_small_lm("learned", "--max-target-positions", 64, "--positions", "shift:40")
    assert shifted.max_positions() == 25
    without_dropout(shifted)(text((25,)))
    assert build_small_lm("rope", "--max-target-positions", 64, "--positions", "shift:40").max_positions() == 64
    drawn = build_small("rope", "--positions", "random:50").eval()
    assert drawn.max_positions() == (50, 50)
    with pytest.raises(InputError, match="random:50 has 50 numbers, but the text has 51 tokens"):
        drawn(**batch(lengths=(51,), target_lengths=(3,)))
    loaded = LanguageModel("path", "sha", shifted, None, None, None)
    assert loaded.max_input == 25


@pytest.mark.parametrize(
    ("name", "positions", "told"),
    [
        ("learned", "shift:2000", "shift:2000 leaves no room for a text within the 1024 positions of learned"),
        ("learned", "random:2000", "random:2000 exceeds the 1024 positions of learned"),
        ("posnet-attn", "random:65", "random:65 exceeds the 64 positions of posnet-attn"),
        ("shaw", "scale:2", "scale:2: shaw has nothing between whole positions"),
        ("t5", "continuous", "continuous:5,0.5,1.03: t5 has nothing between whole positions"),
    ],
)
def test_refused(name, positions, told):
    for build in (build_small, build_small_lm):
        with pytest.raises(InputError, match=told) as caught:
            build(name, "--positions", positions, "--max-target-positions", 1024)
        assert "\n" not in str(caught.value)


def test_checkpoints_from_before_these_flags():
    args = Namespace()
    assert settle_numbering(args) == INDEX and settle_distance(args) is None
    settle_scale(args)
    assert vars(args) == {"positions": "index", "distance": "plain", "attention_scale": "plain"}


def test_unknown_names_are_refused_by_the_parser(capsys):
    with pytest.raises(SystemExit):
        build_small("rope", "--positions", "radnom:5")
    assert "(did you mean random?)" in capsys.readouterr().err.strip().split("\n")[-1]
