"""Scaled frequencies of a rotation: the numbers of Hugging Face's code, what depends on the length, and mistakes."""

import json
import math

import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_posenc.analysis.by_distance import curves
from fairseq_posenc.encodings import Stack, encoding_class
from fairseq_posenc.errors import InputError
from tests.support import hugging_face_frequencies
from tests.support.language_models import write_checkpoint, write_text

GOLDEN = json.loads(hugging_face_frequencies.FILE.read_text())["cases"]
DYNAMIC = {"scaling": "dynamic-ntk", "scaling_factor": 2.0, "original_length": 32}
LONGROPE = {"scaling": "longrope", "scaling_factor": 4.0, "original_length": 32}
LONGROPE |= {"short_factor": "1,1,1,1", "long_factor": "1,2,3,4"}
YARN = {"scaling": "yarn", "scaling_factor": 4.0, "original_length": 32}


def build(name="rope", head_dim=8, causal=True, **options):
    return encoding_class(name)(Stack(head_dim, heads=1, causal=causal), **options)


def angles(encoding, length, start=0):
    """What the positions from ``start`` to ``length`` turn each pair by: (T, D/2), and the factor."""
    idx = range(start, length)
    x = torch.zeros(1, 1, len(idx), encoding.stack.model_dim)
    x[..., ::2] = 1
    turned = torch.view_as_complex(encoding.rotate(x, x, idx, idx)[1][0, 0].unflatten(-1, (-1, 2)))
    return turned.angle(), turned.abs()


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["options"].get("scaling", "p-RoPE"))
def test_numbers_of_hugging_face(case):
    options = dict(case["options"])
    encoding = build(head_dim=options.pop("dim", 16), **options)
    expected = torch.tensor(case["frequencies"], dtype=torch.float64)
    frequencies = encoding.rotation.frequencies
    found = frequencies.of(frequencies.regime(range(case["length"])))
    torch.testing.assert_close(found, expected, rtol=2e-6, atol=0)
    turned, factor = angles(encoding, case["length"])
    # A single position turns no pair by more than half a turn.
    torch.testing.assert_close(turned[1].double(), expected, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(factor, torch.full_like(factor, case["attention_factor"]))


def test_hugging_face_has_not_changed():
    pytest.importorskip("transformers")
    for case, now in zip(GOLDEN, hugging_face_frequencies.computed()["cases"], strict=True):
        assert now["options"] == case["options"]
        assert now["frequencies"] == pytest.approx(case["frequencies"], rel=1e-5)
        assert now["attention_factor"] == pytest.approx(case["attention_factor"])


@pytest.mark.parametrize("options", [DYNAMIC, LONGROPE], ids=lambda options: options["scaling"])
def test_frequencies_by_length(options):
    """Those of plain RoPE up to the original length, others in a longer text, and again those of plain RoPE."""
    encoding, plain = build(**options), build()
    factor = encoding.rotation.frequencies.attention_factor
    for length in (32, 40, 600, 20):
        turned, sizes = angles(encoding, length)
        assert torch.allclose(sizes, torch.tensor(factor))
        usual = angles(plain, length)[0]
        torch.testing.assert_close(turned[:, 0], usual[:, 0], atol=1e-5, rtol=0)  # the fastest pair is the same in all
        assert torch.allclose(turned, usual, atol=1e-5) == (length <= 32)


def test_steps_beyond_the_original_length():
    """Cached keys are turned as in a text without the new tokens: refused where that was otherwise."""
    dynamic, longrope = build(**DYNAMIC), build(**LONGROPE)
    for encoding in (dynamic, longrope):
        torch.testing.assert_close(angles(encoding, 32, start=31)[0], angles(build(), 32, start=31)[0])
        with pytest.raises(
            InputError, match=r"turns all keys anew .* --rope-original-length 32, but step-by-step"
        ) as e:
            angles(encoding, 33, start=32)
        assert "\n" not in str(e.value)
    whole = angles(longrope, 41)[0]
    assert torch.equal(angles(longrope, 41, start=40)[0], whole[40:])  # after a prefix of 40 tokens
    with pytest.raises(InputError, match="dynamic-ntk turns all keys anew"):
        angles(dynamic, 41, start=40)


@pytest.mark.parametrize("options", [DYNAMIC, LONGROPE], ids=lambda options: options["scaling"])
def test_draw_beyond_the_original_length(options):
    """All distances of one text, which is longer than those of training."""
    encoding = build(**options)
    frequencies = encoding.rotation.frequencies
    distances, scores = curves(encoding, 63)["score"]
    f = frequencies.of(frequencies.regime(range(64)))
    expected = [sum(math.cos(n * x) for x in f.tolist()) / 4 for n in distances]
    torch.testing.assert_close(scores[0], torch.tensor(expected, dtype=torch.float64), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rope", {"scaling": "yarm"}, "--rope-scaling must be one of .*, but is yarm .did you mean yarn"),
        (
            "xpos",
            {"scaling": "longrope"},
            "--xpos-scaling must be one of none, linear, ntk, yarn, llama3, but is longro",
        ),
        ("rope", {"scaling": "linear"}, "--rope-scaling linear needs --rope-scaling-factor"),
        ("rope", {**YARN, "original_length": None}, "--rope-scaling yarn needs --rope-original-length"),
        ("rope", {**LONGROPE, "long_factor": None}, "--rope-scaling longrope needs --rope-long-factor"),
        ("rope", {**LONGROPE, "scaling_factor": None}, "--rope-scaling longrope needs --rope-scaling-factor"),
        ("rope", {**YARN, "scaling_factor": 0.0}, "--rope-scaling-factor must be between 1 and 1e.06, but is 0"),
        ("rope", {**YARN, "scaling_factor": 0.5}, "--rope-scaling-factor must be between 1 and 1e.06, but is 0.5"),
        ("rope", {**YARN, "original_length": 0}, "--rope-original-length must be between 2 and 1e.09, but is 0"),
        (
            "rope",
            {"scaling_factor": 2.0},
            "--rope-scaling-factor 2.0 is an option of --rope-scaling linear, ntk, .* none",
        ),
        (
            "rope",
            {**YARN, "low_freq_factor": 2.0},
            "--rope-low-freq-factor 2.0 is an option of .* llama3, but that is y",
        ),
        ("rope", {**YARN, "beta_fast": 1.0}, "--rope-beta-fast 1 must be above --rope-beta-slow 1"),
        ("rope", {**YARN, "base": 1.0}, "--rope-scaling yarn needs --rope-base above 1, but it is 1"),
        ("rope", {**LONGROPE, "short_factor": "1,2"}, "--rope-short-factor needs 4 numbers, .* but has 2"),
        ("rope", {**LONGROPE, "short_factor": "1,2,x,4"}, "--rope-short-factor must be numbers .* but is 1,2,x,4"),
        ("rope", {**LONGROPE, "short_factor": "1,2,0,4"}, "--rope-short-factor must be between .*, but is 0"),
        ("rope", {"keep": 1.5}, "--rope-keep must be between 0 and 1, but is 1.5"),
        ("rope", {"max_wavelength": 6.0}, "--rope-max-wavelength must be between 6.28319 and 1e.09, but is 6"),
        ("rope", {"fraction": 0.25, "scaling": "ntk", "scaling_factor": 2.0}, "ntk needs at least 4 turned dimensions"),
        ("xpos", {"rotation": "off", **YARN}, "--xpos-scaling yarn contradicts --xpos-rotation off"),
    ],
)
def test_mistakes_are_one_line(name, options, message):
    with pytest.raises(InputError, match=message) as caught:
        build(name, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["rope", "xpos"])
def test_a_plain_checkpoint_is_evaluated_with_yarn(encoding, tmp_path):
    """Also one that is older than these options. Same parameters; the scores of a model that was built with YaRN."""
    data = write_text(tmp_path / "data", 60)
    path = write_checkpoint(tmp_path / "plain.pt", data, encoding)
    state = torch.load(path, weights_only=False)
    for name in [name for name in state["cfg"]["model"] if "scaling" in name or name.endswith("original_length")]:
        del state["cfg"]["model"][name]
    torch.save(state, path)
    yarn = {f"{encoding}_{name}": value for name, value in YARN.items()}
    flags = [word for name, value in YARN.items() for word in (f"--{encoding}-{name.replace('_', '-')}", value)]
    built = write_checkpoint(tmp_path / "yarn.pt", data, encoding, *flags)
    tokens = torch.randint(4, 10, (1, 100), generator=torch.Generator().manual_seed(0))
    logits = []
    for file, overrides in ((path, yarn), (built, {}), (path, {})):
        (model,), _, _ = checkpoint_utils.load_model_ensemble_and_task([file], {"data": str(data), **overrides})
        with torch.no_grad():
            logits.append(model.eval()(tokens)[0])
    assert torch.equal(logits[0], logits[1])
    assert (logits[0] - logits[2]).abs().max() > 0.01
