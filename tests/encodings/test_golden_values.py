"""Numbers that the papers and the authors' code give."""

import math

import pytest
import torch

from fairseq_posenc.encodings import Stack, encoding_class, encoding_names, fire
from fairseq_posenc.errors import InputError
from tests.support.encodings import t5_bucket

CPU = torch.device("cpu")


#: Every option that is a number with a fraction: (encoding, argument).
FLOATS = [
    (name, argument)
    for name in encoding_names()
    for argument, option in encoding_class(name).constructor_options().items()
    if option.type is float
]


def build(name, heads=8, model_dim=512, causal=True, **options):
    return encoding_class(name)(Stack(model_dim, heads, causal=causal), **options)


def row(encoding, distances):
    """The bias (H, distances) of the last query, from distance 0 on."""
    return encoding.bias(range(distances - 1, distances), range(distances), CPU)[:, 0].flip(1)


@pytest.mark.parametrize(
    ("heads", "exponents"),
    [
        (8, [1, 2, 3, 4, 5, 6, 7, 8]),
        (12, [1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5]),
        (16, [0.5 * n for n in range(1, 17)]),
    ],
)
def test_alibi_slopes_of_the_authors(heads, exponents):
    slopes = build("alibi", heads, heads * 8).exact("slopes", CPU).flatten()
    torch.testing.assert_close(slopes, torch.tensor([2.0**-h for h in exponents]))


def test_alibi_variants_of_the_sandwich_paper():
    twelve = build("alibi", 12, 96, slopes="geometric").exact("slopes", CPU).flatten()
    torch.testing.assert_close(twelve, torch.tensor([2 ** (-8 * n / 12) for n in range(1, 13)]))
    for shift in (-3, 0, 2, 4, 6, 8):
        shifted = build("alibi", shift=float(shift)).exact("slopes", CPU)
        torch.testing.assert_close(shifted, build("alibi").exact("slopes", CPU) / 2**shift)
    for exponent in (0, 2, 4, 6, 8):
        assert build("alibi", same_exponent=float(exponent)).exact("slopes", CPU).eq(2.0**-exponent).all()
    with pytest.raises(InputError, match="contradicts"):
        build("alibi", same_exponent=2.0, slopes="geometric")


def test_split_encoder_heads_see_one_direction_each():
    bias = build("alibi", heads=4, model_dim=32, causal=False, encoder="split").bias(range(6), range(6), CPU)
    weights = bias.softmax(-1)
    for head in range(4):
        hidden = weights[head].triu(1) if head % 2 == 0 else weights[head].tril(-1)
        assert hidden.eq(0).all()
        assert weights[head].diagonal().gt(0).all()


@pytest.mark.parametrize("first", [0, 1])
def test_sandwich_equals_a_double_loop(first):
    dim, heads = 128, 4
    ours = row(build("sandwich", heads, 64, index_base=("zero", "one")[first]), 300)
    for distance in (0, 1, 2, 17, 299):
        for n in range(1, heads + 1):
            total = 0
            for i in range(first, dim // 2 + first):
                total += math.cos(distance / 10000 ** (2 * i / dim))
            expected = (total - dim / 2) / (8 * n / heads)
            assert ours[n - 1, distance].item() == pytest.approx(expected, abs=1e-4)


def test_sandwich_follows_the_log_curve_of_the_paper():
    """Least squares over 8,192 distances for d = 128, h = 8; the paper prints -0.825 and -0.8 (Figure 9)."""
    bias = row(build("sandwich", heads=1, model_dim=64), 8192)[0].double()
    logs = torch.arange(1, 8193, dtype=torch.float64).log()
    slope, offset = torch.linalg.lstsq(torch.stack([logs, torch.ones_like(logs)], 1), bias[:, None]).solution.flatten()
    assert slope.item() == pytest.approx(-0.83, abs=0.01)
    assert offset.item() == pytest.approx(-0.80, abs=0.02)


def test_smoothed_sandwich_of_50_recent_points():
    """Footnote 7: the preset "recent" is the least-squares fit to the 50 nearest distances."""
    bias = row(build("sandwich", heads=1, model_dim=64), 50)[0].double()
    logs = torch.arange(1, 51, dtype=torch.float64).log()
    slope, offset = torch.linalg.lstsq(torch.stack([logs, torch.ones_like(logs)], 1), bias[:, None]).solution.flatten()
    recent = row(build("sandwich-smoothed", heads=1, model_dim=64, fit="recent"), 50)[0].double()
    torch.testing.assert_close(recent, slope * logs + offset, atol=0.03, rtol=0)


def test_t5_buckets_at_their_edges():
    """32 buckets up to 128: causal ones begin at 16, 18.2.., the last at 112.3; in the encoder 16 each way."""
    encoding = build("t5", heads=2, model_dim=16)
    with torch.no_grad():
        encoding.weight[:] = torch.arange(32).unsqueeze(1)
    assert row(encoding, 300)[0].tolist() == [t5_bucket(distance, 32, 128) for distance in range(300)]
    assert [t5_bucket(distance, 32, 128) for distance in (15, 16, 18, 19, 112, 113, 10_000)] == [
        15,
        16,
        16,
        17,
        30,
        31,
        31,
    ]
    encoder = build("t5", heads=2, model_dim=16, causal=False)
    with torch.no_grad():
        encoder.weight[:] = torch.arange(32).unsqueeze(1)
    bias = encoder.bias(range(200), range(200), CPU)[0]
    for i, j in [(0, 0), (5, 0), (0, 5), (64, 0), (0, 64), (199, 0), (0, 199)]:
        assert bias[i, j] == t5_bucket(abs(i - j), 16, 128) + (16 if j > i else 0)


def test_t5_starts_xavier_uniform():
    """As its authors' code: uniform up to sqrt(6 / (buckets + heads)), whatever the width of the model."""
    torch.manual_seed(3)
    weight = build("t5", heads=16, model_dim=1024).weight
    limit = math.sqrt(6 / (32 + 16))
    assert 0.95 * limit < weight.max() <= limit and -limit <= weight.min() < -0.95 * limit
    assert weight.std().item() == pytest.approx(limit / math.sqrt(3), rel=0.1)


def test_t5_scale_of_gpt_neox():
    """GPT-NeoX multiplies its table by the root of the head dimension: by 8 where that is 64, by 6 where it is 36."""
    for model_dim, factor in ((512, 8), (288, 6)):
        plain, scaled = build("t5", model_dim=model_dim), build("t5", model_dim=model_dim, scale="sqrt-dim")
        scaled.load_state_dict(plain.state_dict())
        torch.testing.assert_close(row(scaled, 200), factor * row(plain, 200))


def test_kerple_starts_in_its_range_and_cannot_leave_it():
    torch.manual_seed(3)
    log, power = build("kerple-log", 500, 500), build("kerple-power", 500, 500)
    # The authors' classes: the factor of the power form starts below 1, its exponent below 2; the log form has it the
    # other way round.
    for encoding, below_2, below_1 in ((log, log.r1, log.r2), (power, power.r2, power.r1)):
        assert 0.01 < below_2.min() < 0.1 and 1.9 < below_2.max() < 2
        assert 0.009 < below_1.min() < 0.05 and 0.95 < below_1.max() < 1
        with torch.no_grad():
            encoding.free_r1.fill_(-50.0)
            encoding.free_r2.fill_(50.0)
        assert encoding.r1.min() > 0
        assert row(encoding, 1000).isfinite().all()
    assert power.r2.max() <= 2


def test_adaptive_t5_rates_start_between_1_and_15():
    encoding = build("adaptive-t5", 500, 500, causal=False)
    for rate in encoding.rates.values():
        assert 1 < rate.min() < 1.5 and 14.5 < rate.max() < 15
    assert [tuple(weight.shape[1:]) for weight in encoding.networks["past"].weights] == [(1, 16), (16, 4), (4, 1)]


def test_adaptive_t5_networks_start_as_its_authors_have_them():
    """Weights: a normal distribution of deviation 0.1, cut off at 0.2 (which leaves 0.088); biases: 0.1."""
    torch.manual_seed(3)
    network = build("adaptive-t5", 500, 500).networks["past"]
    for weight, bias in zip(network.weights, network.biases):
        assert weight.abs().max() <= 0.2 and (bias == 0.1).all()
        assert weight.std().item() == pytest.approx(0.088, abs=0.008) and abs(weight.mean()) < 0.015


def test_adaptive_t5_drops_out_after_the_first_hidden_layer_only():
    """With weights of 0 from the first hidden layer on, what it drops cannot be seen, so the bias stays the same."""
    encoding = build("adaptive-t5", 8, 64, dropout=0.5).train()
    network = encoding.networks["past"]
    distances = torch.arange(50)
    assert not torch.equal(encoding.by_distance(distances), encoding.by_distance(distances))
    with torch.no_grad():
        network.weights[1].zero_()
        network.weights[2].fill_(1.0)
    assert torch.equal(encoding.by_distance(distances), encoding.by_distance(distances))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("model_dim", [512, 640])
def test_forgetting_without_data_is_alibi(dtype, model_dim):
    """With weights of 0 all gates are sigmoid(start). Far into a text, and in parts as in step-by-step decoding."""
    encoding = build("forgetting", model_dim=model_dim, start=1.0).to(dtype)
    with torch.no_grad():
        encoding.gates.weight.zero_()
    x, text = torch.zeros(1, 8, 4096, model_dim // 8, dtype=dtype), torch.zeros(1, 4096, model_dim, dtype=dtype)
    cut = 1000
    first_q, first_k = encoding.extend(x[:, :, :cut], x[:, :, :cut], text[:, :cut], None)
    second_q, second_k = encoding.extend(x[:, :, cut:], x[:, :, cut:], text[:, cut:], first_k[:, :, -1:])
    q, k = torch.cat([first_q, second_q], dim=2), torch.cat([first_k, second_k], dim=2)
    assert q.dtype == k.dtype == dtype and q.size(-1) == model_dim // 8 + 8
    slope = -math.log(torch.sigmoid(torch.tensor(1.0)).item())
    for i, j in ((0, 0), (999, 998), (1000, 999), (4095, 4095), (4095, 4000), (4095, 0), (2000, 10)):
        bias = (q[0, 0, i].double() * k[0, 0, j].double()).sum() / math.sqrt(model_dim // 8)
        assert bias.item() == pytest.approx(-slope * (i - j), rel=1e-6, abs=1e-3)


def test_fire_of_the_paper():
    """psi(i - j) / psi(max(i, L)) with c = 0.1 and L = 512, through a network that gives back what it reads."""
    encoding = build("fire", hidden=1)
    with torch.no_grad():
        for weight in encoding.network.parameters():
            weight.fill_(1.0 if weight.dim() == 2 else 0.0)
    queries, keys = range(600, 604), range(604)
    bias = encoding.position_bias(torch.tensor([[600, 601, 602, 603], [3, 4, 5, 6]]), queries, keys)
    assert bias.shape == (2, 8, 4, 604)
    for b, i, j in ((0, 600, 600), (0, 600, 0), (0, 603, 500), (1, 602, 600), (1, 601, 597)):
        longest = max(512, i - 597 * b)  # the second sentence begins in column 597
        expected = math.log(0.1 * (i - j) + 1) / math.log(0.1 * longest + 1)
        assert bias[b, 0, i - 600, j].item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("causal", [True, False])
def test_gradients_of_fire_are_those_of_autograd(causal, monkeypatch):
    """Its backward pass is written by hand, for some pairs at a time."""
    monkeypatch.setattr(fire, "CPU_PAIRS", 7)
    torch.manual_seed(3)
    encoding = build("fire", heads=3, model_dim=12, causal=causal, hidden=5, length=4.0)
    positions, queries, keys = torch.tensor([[2, 3, 4, 5], [0, 1, 2, 3]]), range(6, 10), range(3, 10)
    shares = encoding._shares(positions, queries, keys, encoding.c, encoding.length_factor)
    expected = encoding.network(shares.unsqueeze(-1)).permute(0, 3, 1, 2)
    seen = torch.tensor([[key <= query or not causal for key in keys] for query in queries])
    found, expected = (bias * seen for bias in (encoding.position_bias(positions, queries, keys), expected))
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(bias.sin().sum(), list(encoding.parameters())) for bias in (found, expected)]
    for ours, theirs in zip(*gradients):
        assert theirs.abs().sum() > 0
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("causal", [True, False])
def test_transformer_xl_is_the_formula_of_the_paper(causal):
    """(q + u) k + (q + v) W R, of queries in the middle of a text, and of one alone."""
    torch.manual_seed(3)
    encoding = build("transformer-xl", heads=2, model_dim=16, causal=causal).double()
    for parameter in encoding.parameters():
        torch.nn.init.normal_(parameter)
    x, u, v = torch.randn(9, 2, 8, dtype=torch.float64), encoding.content_query, encoding.position_query
    heads = x.transpose(0, 1).unsqueeze(0)
    for queries in (range(9), range(3, 7), range(8, 9), range(1)):
        keys = range(queries.stop) if causal else range(9)
        q, k = heads[:, :, queries.start : queries.stop], heads[:, :, : len(keys)]
        scores = encoding.scores(q / math.sqrt(8), k, queries, keys)
        for row, i in enumerate(queries):
            for j in keys:
                angles = [(i - j) * 10000 ** (-2 * n / 16) for n in range(8)]
                sinusoids = [f(angle) for f in (math.sin, math.cos) for angle in angles]
                r = (encoding.project.weight @ torch.tensor(sinusoids, dtype=torch.float64)).view(2, 8)
                r = r * 0 if causal and j > i else r
                expected = ((x[i] + u) * x[j] + (x[i] + v) * r).sum(-1) / math.sqrt(8)
                torch.testing.assert_close(scores[0, :, row, j], expected, atol=1e-4, rtol=1e-4)


def test_xpos_decay_of_the_paper():
    """zeta = (2i/d + 0.4) / 1.4; 512 positions apart a pair has decayed once."""
    encoding = build("xpos", heads=1, model_dim=8)
    zeta = torch.tensor([(2 * i / 8 + 0.4) / 1.4 for i in range(4)])
    ones = torch.ones(1, 1, 1, 8)
    q, k = encoding.decay(ones, ones.expand(-1, -1, 513, -1), range(512, 513), range(513))
    torch.testing.assert_close((q * k[:, :, :1])[0, 0, 0], zeta.repeat_interleave(2))
    torch.testing.assert_close((q * k[:, :, -1:])[0, 0, 0], torch.ones(8))


@pytest.mark.parametrize(
    ("length", "wanted"),
    [(1024, torch.float16), (4096, torch.float16), (8192, torch.float32), (100_000, torch.float64)],
)
def test_xpos_stays_in_range_of_fp16(length, wanted):
    """Scores at the smallest, a middle and the largest distance, all along the text."""
    encoding = build("xpos", heads=1, model_dim=64).half()
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, 1, length, 64, generator=generator).half() for _ in range(2))
    scaled_q, scaled_k = encoding.decay(q, k, range(length), range(length))
    assert scaled_q.dtype == scaled_k.dtype == wanted
    for distance in (0, length // 2, length - 1):
        scores = (scaled_q[0, 0, distance:].double() * scaled_k[0, 0, : length - distance].double()).sum(1)
        factors = torch.exp(distance * encoding.exact("log_decay", CPU))
        expected = (q[0, 0, distance:].double() * k[0, 0, : length - distance].double() * factors).sum(1)
        torch.testing.assert_close(scores, expected, rtol=0, atol=0.02)


def test_xpos_of_an_encoder_stays_in_range_of_fp16():
    """At the ends of this text the factors, e^20 and e^-20, are no numbers of fp16."""
    encoding = build("xpos", heads=1, model_dim=64, causal=False, scale_base=2.0).half()
    q, k = (torch.randn(1, 1, 64, 64, generator=torch.Generator().manual_seed(seed)).half() for seed in (0, 1))
    scores = encoding.scores(q, k, range(64), range(64))[0, 0]
    for n, m in [(0, 0), (63, 63), (63, 0), (0, 63), (10, 12), (50, 47)]:
        decay = torch.exp(abs(n - m) * encoding.exact("log_decay", CPU))
        expected = (q[0, 0, n].double() * k[0, 0, m].double() * decay).sum()
        assert scores[n, m].item() == pytest.approx(expected.item(), abs=1e-3)


@pytest.mark.parametrize(
    ("name", "options", "parts"),
    [
        ("shaw", {"clip": 0}, "--shaw-clip must be at least 1, but is 0"),
        ("t5", {"buckets": 7}, "--t5-buckets must be even and at least 4, but is 7"),
        ("t5", {"max_distance": 8}, "--t5-max-distance 8 is not beyond the 8 distances"),
        ("adaptive-t5", {"hidden": 0}, "--adaptive-t5-hidden must be at least 1, but is 0"),
        ("adaptive-t5", {"second_hidden": 0}, "--adaptive-t5-second-hidden must be at least 1"),
        ("adaptive-t5", {"dropout": 1.0}, "--adaptive-t5-dropout must be in [0, 1), but is 1.0"),
        ("dynamic-bias", {"dim": 0}, "--dynamic-bias-dim must be at least 1, but is 0"),
        ("dynamic-bias", {"dim": 10**11}, "--dynamic-bias-dim 100000000000 needs "),
        ("fire", {"hidden": 0}, "--fire-hidden must be at least 1, but is 0"),
        ("fire", {"length": 0.0}, "--fire-length must be between 0.001 and 1e+09, but is 0"),
        ("forgetting", {"start": 50.0}, "--forgetting-start must be between -20 and 20, but is 50"),
        ("sandwich", {"dim": 7}, "--sandwich-dim must be even and at least 2, but is 7"),
        ("posnet-attn", {"max_positions": 0}, "--posnet-attn-max-positions must be at least 1, but is 0"),
        ("posnet-attn", {"dropout": -0.1}, "--posnet-attn-dropout must be in [0, 1), but is -0.1"),
        ("rope", {"base": 0.0}, "--rope-base must be between 1e-06 and 1e+12, but is 0"),
        ("rope", {"base": 1e-320}, "--rope-base must be between 1e-06 and 1e+12, but is 9.99989e-321"),
        ("rope", {"fraction": 0.3}, "--rope-fraction 0.3 of the head dimension 64 is 19.2"),
        ("xpos", {"gamma": 0.0}, "--xpos-gamma must be between 1e-06 and 1e+06, but is 0"),
        ("xpos", {"scale_base": -1.0}, "--xpos-scale-base must be between 0.01 and 1e+12, but is -1"),
        ("alibi", {"shift": -200.0}, "--alibi-shift must be between -100 and 100, but is -200"),
        ("alibi", {"slopes": "geometric", "same_exponent": 1e308}, "--alibi-same-exponent must be between -100 and"),
        ("posnet-embed", {"max_positions": 10**8, "kernel_dim": 4096}, "--posnet-max-positions 100000000 with kernels"),
        ("posnet-embed", {"kernel_dim": 10**22}, "--posnet-dim 10000000000000000000000 needs "),
        ("posnet-attn", {"max_positions": 10**11}, "--posnet-attn-max-positions 100000000000 with kernels of 64 x 64"),
        ("shaw", {"clip": 10**11}, "--shaw-clip 100000000000 needs 47,683.7 GiB for one table, but the memory is "),
        ("t5", {"buckets": 10**11, "max_distance": 10**12}, "--t5-buckets 100000000000 needs 2,980.2 GiB"),
        (
            "adaptive-t5",
            {"hidden": 10**11},
            "--adaptive-t5-hidden 100000000000 with --adaptive-t5-second-hidden 4 needs",
        ),
        ("cope", {"positions": 1}, "--cope-positions must be at least 2, but is 1"),
        ("deberta", {"span": 7}, "--deberta-span must be even and at least 4, but is 7"),
        ("deberta", {"span": 0, "spacing": "plain"}, "--deberta-span must be at least 1, but is 0"),
        ("deberta", {"max_distance": 129}, "--deberta-max-distance 129 is not beyond the 129 distances"),
        (
            "deberta",
            {"spacing": "plain", "max_distance": 600},
            "--deberta-max-distance 600 is for --deberta-spacing log",
        ),
        ("sandwich", {"dim": 10**11}, "--sandwich-dim 100000000000 at 1,000 distances needs 372,529.0 GiB"),
    ],
)
def test_bad_options_are_one_line(name, options, parts):
    with pytest.raises(InputError) as caught:
        build(name, causal=False, **options)
    assert parts in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("name", "option"), FLOATS)
def test_numbers_that_are_not_finite_are_one_line(name, option, number):
    flag = encoding_class(name).options()[option].flag
    options = {"slopes": "geometric"} if option == "same_exponent" else {}
    with pytest.raises(InputError, match=f"{flag} .*{number}") as caught:
        build(name, **options, **{option: number})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("causal", "flag"), [(True, "--max-target-positions"), (False, "--max-source-positions")])
def test_more_learned_positions_than_memory(causal, flag):
    with pytest.raises(InputError, match=f"learned with {flag} 10000000000 needs 19,073.5 GiB for one table"):
        encoding_class("learned")(Stack(512, max_positions=10**10, causal=causal))


@pytest.mark.parametrize("causal", [True, False])
def test_xpos_refuses_texts_beyond_the_range_of_fp64(causal):
    """A tiny base: from some distance on, the factors of queries and keys would be infinite and zero."""
    encoding = build("xpos", heads=1, model_dim=4, causal=causal, scale_base=0.01)
    x = torch.ones(1, 1, 100, 4)
    with pytest.raises(InputError, match="xpos: the decay over 100 tokens leaves the range of fp64; give shorter"):
        encoding.scores(*encoding.decay(x, x, range(100), range(100)), range(100), range(100))


@pytest.mark.parametrize("name", ["rope", "xpos"])
def test_odd_head_dimension_cannot_be_turned(name):
    with pytest.raises(InputError, match="head dimension (is )?13.*(pair|even)"):
        build(name, heads=2, model_dim=26)


def test_split_needs_two_heads():
    with pytest.raises(InputError, match="--alibi-encoder split needs at least 2"):
        build("alibi", heads=1, model_dim=8, causal=False, encoder="split")
