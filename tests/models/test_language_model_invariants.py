"""What holds for every encoding under every attention pattern in a language model."""

import pytest
import torch

from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.errors import InputError
from tests.support.encodings import undefined
from tests.support.models import build_small_lm, text

PATTERNS = ["full", "window:5", "blockwise:8", "sinks:2,window:4"]
#: More than two blocks; the last one is not full.
LENGTHS = (22, 9, 15)


@pytest.fixture(params=encoding_names())
def name(request):
    return request.param


@pytest.fixture(params=PATTERNS)
def pattern(request):
    return request.param


def model_of(name, pattern, *flags):
    if undefined(name, pattern):
        pytest.skip("refused")
    return build_small_lm(name, "--attention-pattern", pattern, *flags)


def logits(model, tokens):
    return model(tokens)[0]


def stepwise_logits(model, tokens, sizes=None):
    """The same, one token at a time, or so many at a time."""
    state, steps, end = {}, [], 0
    for size in sizes or [1] * tokens.size(1):
        end += size
        steps.append(model.decoder(tokens[:, :end], incremental_state=state)[0])
        assert steps[-1].size(1) == size
    return torch.cat(steps, dim=1)


@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
def test_padding_and_steps_change_nothing(name, pattern, left):
    """Padded on either side or not at all, in one pass or step by step: the same logits."""
    model, tokens = model_of(name, pattern), text(LENGTHS, left=left)
    with torch.no_grad():
        together = logits(model, tokens)
        steps = stepwise_logits(model, tokens)
        real = tokens != 1
        torch.testing.assert_close(steps[real], together[real], atol=1e-5, rtol=0)
        assert together.isfinite().all() and steps.isfinite().all()
        for row, sentence in enumerate(tokens):
            alone = logits(model, sentence[real[row]][None])[0]
            torch.testing.assert_close(together[row][real[row]], alone, atol=1e-5, rtol=0)


def test_prefix_at_once(name, pattern):
    """A prefix longer than the cache, then steps, then several tokens."""
    model, tokens = model_of(name, pattern), text((22, 22))
    with torch.no_grad():
        chunks = stepwise_logits(model, tokens, sizes=[13, 1, 1, 7])
        torch.testing.assert_close(chunks, logits(model, tokens), atol=1e-5, rtol=0)


def test_steps_after_beam_reordering(name, pattern):
    """Three beams; after 17 tokens the second continues twice and the first takes the last place."""
    model, tokens, order = model_of(name, pattern), text((20, 20, 20)), torch.tensor([1, 1, 0])
    with torch.no_grad():
        state = {}
        for step in range(1, 18):
            model.decoder(tokens[:, :step], incremental_state=state)
        model.decoder.reorder_incremental_state_scripting(state, order)
        continued = torch.cat([tokens[order, :17], tokens[:, 17:]], dim=1)
        whole = logits(model, continued)
        for step in (18, 19, 20):
            out = model.decoder(continued[:, :step], incremental_state=state)[0]
            torch.testing.assert_close(out[:, 0], whole[:, step - 1], atol=1e-5, rtol=0)


def test_sees_neither_the_future_nor_what_the_pattern_hides(name, pattern):
    """Two layers of window:5 reach back 8 tokens; two layers of blocks of 4 reach two blocks back."""
    model, tokens = model_of(name, pattern).double(), text((22,))
    embedded = []
    hook = model.decoder.embed_tokens.register_forward_hook(lambda module, given, out: embedded.append(out))
    out = logits(model, tokens)
    hook.remove()
    farthest = {"full": lambda i: 0, "window:5": lambda i: i - 8, "blockwise:8": lambda i: (i // 4 - 2) * 4}
    farthest = farthest.get(pattern, lambda i: i - 6)
    for i in (0, 3, 4, 11, 12, 21):
        (gradient,) = torch.autograd.grad(out[0, i].sum(), embedded[0], retain_graph=True)
        sizes = gradient[0].abs().sum(-1)
        first, sinks = max(0, farthest(i)), 2 if pattern.startswith("sinks") else 0
        assert sizes[i + 1 :].eq(0).all()
        # Sums of gates have gradients that cancel, but for their rounding. From a sink on, all tokens have gates.
        assert sizes[sinks:first].lt(1e-14).all() or (sinks and name == "forgetting")
        assert sizes[first : i + 1].gt(1e-12).all() and sizes[: min(sinks, i + 1)].gt(1e-12).all()


def test_every_parameter_learns(name, pattern):
    model = model_of(name, pattern).train()
    logits(model, text(LENGTHS)).pow(2).sum().backward()
    assert not [n for n, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_finite_far_beyond_training(name, pattern, dtype):
    """At 1, odd, training length +- 1, and 32 times the training length where there is no limit."""
    flags = ["--tokens-per-sample", 16] + (["--max-target-positions", 17] if name == "learned" else [])
    model = model_of(name, pattern, *flags).to(dtype)
    limit = model.decoder.embed_positions.max_positions
    assert limit is None or encoding_class(name).length_limit
    with torch.no_grad():
        for length in (1, 7, 15, 16, 17, 512):
            if limit is None or length <= limit:
                assert logits(model, text((length, 1))).isfinite().all(), length


def test_low_precision_error(name, pattern):
    """The error of bf16 is at most twice that of the model without an encoding or a pattern."""

    def error(*choice):
        low, exact = model_of(*choice).bfloat16(), model_of(*choice).double()
        exact.load_state_dict({key: value.double() for key, value in low.state_dict().items()})
        tokens = text((40, 40, 40))
        with torch.no_grad():
            return (logits(low, tokens).double() - logits(exact, tokens)).pow(2).mean().sqrt()

    assert error(name, pattern) <= 2 * error("none", "full")


@pytest.mark.parametrize(
    "flags",
    [["--checkpoint-activations"], ["--decoder-layerdrop", "0.5"], ["--dropout", "0.2", "--attention-dropout", "0.2"]],
    ids=lambda flags: flags[0].lstrip("-"),
)
def test_works_with_fairseq_options(pattern, flags):
    """Trains a step; with checkpointed activations the gradients are the same."""
    for name in ("t5", "xpos", "shaw"):
        gradients = []
        for extra in ([], flags):
            model = model_of(name, pattern, *extra).double().train()
            torch.manual_seed(3)
            logits(model, text(LENGTHS)).pow(2).sum().backward()
            gradients.append({n: p.grad for n, p in model.named_parameters()})
        if flags[0] != "--checkpoint-activations":
            assert all(g is None or g.isfinite().all() for g in gradients[1].values())
            continue
        for parameter, gradient in gradients[0].items():
            torch.testing.assert_close(gradients[1][parameter], gradient, atol=1e-6, rtol=1e-6, msg=parameter)


def learns_period(pattern, updates=200):
    """Accuracy of one layer on texts that repeat every 4 words: the next word is the one 3 before the last."""
    model = build_small_lm(
        "shaw",
        *("--attention-pattern", pattern, "--decoder-layers", 1, "--decoder-embed-dim", 32, "--activation-fn", "gelu"),
        words=8,
    )
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def batch(sentences):
        return torch.randint(4, 12, (sentences, 4), generator=generator).repeat(1, 6)

    model.train()
    for _ in range(updates):
        tokens = batch(32)
        loss = torch.nn.functional.cross_entropy(logits(model, tokens)[:, 4:-1].flatten(0, 1), tokens[:, 5:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    tokens = batch(200)
    with torch.no_grad():
        return (logits(model, tokens)[:, 4:-1].argmax(-1) == tokens[:, 5:]).float().mean().item()


def test_what_a_pattern_shows_can_be_learned_and_nothing_else():
    """blockwise:4 shows the word to half of the queries: those in the second place of their block of 2."""
    assert learns_period("window:4") > 0.95
    assert learns_period("window:3") < 0.4
    assert 0.5 < learns_period("blockwise:4") < 0.8


def test_pattern_of_another_model(name):
    """Trained in full, evaluated under a pattern: the same parameters, by another flag."""
    full, tokens = model_of(name, "full"), text((22,))
    with torch.no_grad():
        expected = logits(full, tokens)
        for pattern in ("blockwise:44", "window:22", "sinks:4,window:18"):
            if undefined(name, pattern):
                continue
            same = model_of(name, pattern)
            same.load_state_dict(full.state_dict())
            torch.testing.assert_close(logits(same, tokens), expected, atol=1e-5, rtol=0)
        narrow = model_of(name, "window:5")
        narrow.load_state_dict(full.state_dict())
        change = (logits(narrow, tokens) - expected).abs().amax(-1)[0]
        assert change[:5].max() < 1e-5 < 1e-3 < change[8:].max()


def test_cache_size(name):
    """One pass in full; steps as under a window. Refused where absolute positions would go on growing."""
    if not encoding_class(name).translation_invariant:
        with pytest.raises(InputError, match=f"--cache-size 6: {name} gives tokens their absolute positions"):
            model_of(name, "full", "--cache-size", 6)
        return
    rolling, windowed, full = (
        model_of(name, *choice) for choice in (("full", "--cache-size", 6), ("window:6",), ("full",))
    )
    for model in (rolling, windowed):
        model.load_state_dict(full.state_dict())
    tokens = text((22, 22))
    with torch.no_grad():
        torch.testing.assert_close(stepwise_logits(rolling, tokens), logits(windowed, tokens), atol=1e-5, rtol=0)
        torch.testing.assert_close(logits(rolling, tokens), logits(full, tokens))


def test_sinks_of_an_encoding_that_counts_keys_in_between():
    with pytest.raises(InputError, match="sinks:4,window:8: cope compares consecutive keys alone; use window:W"):
        build_small_lm("cope", "--attention-pattern", "sinks:4,window:8")


def test_bad_patterns_are_refused(capsys):
    for flags, told in (
        (["--attention-pattern", "blockwise:9"], "even and at least 2; give blockwise:10"),
        (["--attention-pattern", "sliding"], "must be one of full, window:W, blockwise:L"),
    ):
        with pytest.raises(SystemExit):
            build_small_lm("none", *flags)
        assert told in capsys.readouterr().err.strip().split("\n")[-1]
    for flags, told in (
        (["--cache-size", 0], "--cache-size must be at least 1, but is 0"),
        (["--cache-size", 4, "--attention-pattern", "window:3"], "contradicts --attention-pattern window:3"),
    ):
        with pytest.raises(InputError, match=told):
            build_small_lm("none", *flags)
