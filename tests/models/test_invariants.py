"""What holds for every encoding in a translation model, whatever its formula."""

import pytest
import torch

from fairseq_posenc.encodings import encoding_names
from tests.support.encodings import CASES
from tests.support.models import batch, build_small, incremental_logits

SIDES = [(False, False), (True, False), (False, True), (True, True)]


@pytest.fixture(params=encoding_names())
def name(request):
    return request.param


def logits(model, sample):
    return model(**sample)[0]


@pytest.mark.parametrize("left", SIDES, ids=str)
def test_padding_changes_nothing(name, left):
    """Left-padded, right-padded and unpadded sentences, alone or in a batch, have the same logits."""
    model = build_small(name)
    sample = batch(left_pad_source=left[0], left_pad_target=left[1])
    together = logits(model, sample)
    assert together.isfinite().all()
    for row in range(3):
        source, target = (sample[key][row] for key in ("src_tokens", "prev_output_tokens"))
        alone = {
            "src_tokens": source[source != 1][None],
            "src_lengths": sample["src_lengths"][row : row + 1],
            "prev_output_tokens": target[target != 1][None],
        }
        torch.testing.assert_close(together[row][target != 1], logits(model, alone)[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("left", SIDES, ids=str)
def test_steps_equal_one_pass(name, left):
    model = build_small(name)
    sample = batch(left_pad_source=left[0], left_pad_target=left[1])
    tokens = sample["prev_output_tokens"] != 1
    torch.testing.assert_close(
        incremental_logits(model, sample)[tokens], logits(model, sample)[tokens], atol=1e-5, rtol=0
    )


def test_steps_after_beam_reordering(name):
    """Three beams of one sentence; after three steps the second continues twice and the first takes the last place."""
    model = build_small(name)
    sample = batch(lengths=(5,), target_lengths=(6, 6, 6))
    tokens, order = sample["prev_output_tokens"], torch.tensor([1, 1, 0])
    encoder_out = model.encoder(sample["src_tokens"].expand(3, -1), None)
    state = {}
    for step in range(1, 4):
        model.decoder(tokens[:, :step], encoder_out, incremental_state=state)
    model.decoder.reorder_incremental_state_scripting(state, order)
    continued = torch.cat([tokens[order, :3], tokens[:, 3:]], dim=1)
    stepped = model.decoder(continued[:, :4], encoder_out, incremental_state=state)[0]
    whole = model.decoder(continued, encoder_out)[0]
    torch.testing.assert_close(stepped[:, 0], whole[:, 3], atol=1e-5, rtol=0)


def test_decoder_never_sees_the_future(name):
    model = build_small(name)
    sample = batch(lengths=(5,), target_lengths=(6,))
    encoder_out = model.encoder(sample["src_tokens"], sample["src_lengths"])
    embedded = []
    hook = model.decoder.embed_tokens.register_forward_hook(lambda module, given, out: embedded.append(out))
    out = model.decoder(sample["prev_output_tokens"], encoder_out)[0]
    hook.remove()
    for i in range(6):
        (gradient,) = torch.autograd.grad(out[0, i].sum(), embedded[0], retain_graph=True)
        assert gradient[0, i + 1 :].eq(0).all()


def test_encoder_order(name):
    """Swapping two source words changes the encoder's output of a word exactly where the encoding says so.

    (Reversing all of them would not do: an encoding of undirected distance is blind to that.)
    """
    model = build_small(name)
    source, order = torch.tensor([[4, 5, 6, 7, 8, 9]]), torch.tensor([1, 0, 2, 3, 4, 5])
    straight = model.encoder(source, torch.tensor([6]))["encoder_out"][0]
    swapped = model.encoder(source[:, order], torch.tensor([6]))["encoder_out"][0]
    change = (straight[order] - swapped).abs().max().item()
    assert change > 1e-3 if CASES[name].informs else change < 1e-5


@pytest.mark.parametrize(
    "flags", [["--encoder-normalize-before", "--decoder-normalize-before"], []], ids=["pre", "post"]
)
def test_every_parameter_learns(name, flags):
    """A gradient for all parameters: nothing is owned and unused."""
    model = build_small(name, *flags).train()
    logits(model, batch()).pow(2).sum().backward()
    unused = [n for n, p in model.named_parameters() if p.grad is None]
    assert not unused


@pytest.mark.parametrize("length", [1, 7, 63, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_finite_at_all_lengths(name, length, dtype):
    model = build_small(name).to(dtype)
    assert logits(model, batch(lengths=(length, 1), target_lengths=(length, 1))).isfinite().all()


def test_finite_far_beyond_training(name):
    """8 x 64 positions, for encodings without a limit; the others say their limit."""
    model = build_small(name)
    if model.encoder.embed_positions.max_positions is not None:
        assert model.max_positions()[0] <= max(64, model.encoder.embed_positions.max_positions)
        return
    assert logits(model, batch(lengths=(512,), target_lengths=(512,))).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_error(name, dtype):
    """The error of half precision is at most twice that of the model without any encoding."""

    def error(encoding):
        low = build_small(encoding).to(dtype)
        exact = build_small(encoding).double()
        exact.load_state_dict({key: value.double() for key, value in low.state_dict().items()})
        sample = batch()
        with torch.no_grad():
            difference = logits(low, sample).double() - logits(exact, sample)
        return difference[sample["prev_output_tokens"] != 1].pow(2).mean().sqrt()

    assert error(name) <= 2 * error("none")


@pytest.mark.parametrize(
    "flags",
    [
        ["--share-all-embeddings"],
        ["--share-decoder-input-output-embed"],
        ["--encoder-normalize-before", "--decoder-normalize-before"],
        ["--layernorm-embedding"],
        ["--no-scale-embedding"],
        ["--encoder-layerdrop", "0.5", "--decoder-layerdrop", "0.5"],
        ["--checkpoint-activations"],
        ["--quant-noise-pq", "0.1", "--quant-noise-pq-block-size", "8"],
        ["--activation-fn", "gelu"],
    ],
    ids=lambda flags: flags[0].lstrip("-"),
)
def test_works_with_fairseq_options(name, flags):
    """Trains a step; decodes step by step as in one pass."""
    model = build_small(name, *flags)
    model.train()
    logits(model, batch()).pow(2).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    model.eval()
    sample = batch()
    tokens = sample["prev_output_tokens"] != 1
    torch.testing.assert_close(
        incremental_logits(model, sample)[tokens], logits(model, sample)[tokens], atol=1e-5, rtol=0
    )


def test_checkpointed_activations_have_the_same_gradient(name):
    gradients = []
    for flags in ([], ["--checkpoint-activations"]):
        model = build_small(name, *flags).double().train()
        logits(model, batch()).pow(2).sum().backward()
        gradients.append({n: p.grad for n, p in model.named_parameters()})
    assert gradients[0].keys() == gradients[1].keys()
    for parameter, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][parameter], gradient, atol=1e-6, rtol=1e-6, msg=parameter)


def test_separate_dictionaries(name):
    model = build_small(name, target_words=11)
    assert logits(model, batch(words=10)).shape[-1] == 4 + 11
