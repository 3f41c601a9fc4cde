"""Losses over slices of the tokens are fairseq's: values, gradients, what is logged, and what is kept in memory."""

import re
from types import SimpleNamespace

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss

from fairseq_posenc.analysis.live_memory import LiveMemory
from fairseq_posenc.criterions import sliced_loss
from fairseq_posenc.errors import InputError
from tests.support.commands import BIN, PLUGIN_TRAINING, ROOT, output, with_plugin
from tests.support.models import architecture, batch, build_small, build_small_lm, small_flags, text

PAD, C, V = 1, 16, 37


def stock(features, weight, target, epsilon):
    log_probabilities = torch.log_softmax((features @ weight.t()).float(), dim=-1)
    return label_smoothed_nll_loss(log_probabilities, target, epsilon, ignore_index=PAD)


def example(tokens, dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    features, weight = (torch.randn(n, C, generator=generator) for n in (tokens, V))
    target = torch.randint(2, V, (tokens,), generator=generator)
    target[::5] = PAD
    return features.to(dtype), weight.to(dtype), target


def parts(features, weight):
    return [x.clone().requires_grad_() for x in (features, weight)]


@pytest.mark.parametrize("tokens", [1, 7, 50])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_equals_stock_over_any_slices(epsilon, tokens, monkeypatch):
    features, weight, target = example(tokens)
    theirs = parts(features, weight)
    loss, nll_loss = stock(*theirs, target, epsilon)
    loss.backward()
    for size in (1, 3 * V, 1000 * V):
        monkeypatch.setattr(sliced_loss, "CPU_SLICE", size)
        ours = parts(features, weight)
        found = sliced_loss.sliced_cross_entropy(*ours, target, PAD, epsilon)
        (2 * found.loss).backward()  # the loss scale of fp16, and the gradient of a sum of losses
        torch.testing.assert_close(found.loss, loss)
        torch.testing.assert_close(found.nll_loss, nll_loss)
        for x, y in zip(ours, theirs):
            torch.testing.assert_close(x.grad, 2 * y.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_is_within_the_error_of_stock(dtype):
    features, weight, target = example(50)
    exact = parts(features, weight)
    stock(*exact, target, 0.1)[0].backward()
    errors = []
    for loss_of in (stock, lambda *x: sliced_loss.sliced_cross_entropy(*x[:3], PAD, x[3])):
        low = parts(features.to(dtype), weight.to(dtype))
        loss = loss_of(*low, target, 0.1)[0]
        assert loss.dtype == torch.float32
        loss.backward()
        assert [x.grad.dtype for x in low] == [dtype, dtype]
        errors.append([((x.grad - y.grad).norm() / y.grad.norm()).item() for x, y in zip(low, exact)])
    assert all(ours < 1.5 * theirs for theirs, ours in zip(*errors)), errors


def test_small_probabilities_have_gradients_in_fp16():
    """Without a scale, fp16 would round them to 0: fairseq's loss scale comes only after this gradient is made."""
    weight = torch.zeros(2, C, dtype=torch.float16)
    weight[1] = -1.125
    features = torch.ones(1, C, dtype=torch.float16).requires_grad_()
    found = sliced_loss.sliced_cross_entropy(features, weight, torch.tensor([0]), PAD)
    (128 * found.loss).backward()
    expected = -128 * 1.125 * torch.sigmoid(torch.tensor(-1.125 * C))
    torch.testing.assert_close(features.grad[0].float(), expected.expand(C), rtol=0.1, atol=0)


@pytest.mark.parametrize("tokens", [300, 5000])
def test_a_frequent_token_has_a_gradient_in_fp16(tokens):
    """128 times its gradient is beyond fp16: the loss scale of fairseq would fall until training stops."""
    features = torch.full((tokens, C), 3.0)
    features[:, 0] = 1e-3
    weight, target = torch.zeros(V, C), torch.full((tokens,), 2)
    exact, ours = parts(features, weight), parts(features.half(), weight.half())
    scale = 0.25
    (scale * stock(*exact, target, 0.1)[0]).backward()
    (scale * sliced_loss.sliced_cross_entropy(*ours, target, PAD, 0.1).loss).backward()
    assert exact[1].grad.abs().max() > 128
    for x, y in zip(ours, exact):
        assert x.grad.dtype == torch.float16 and x.grad.isfinite().all()
        torch.testing.assert_close(x.grad.float(), y.grad, rtol=5e-3, atol=1e-3)


def test_what_nothing_needs_a_gradient_of_has_none():
    features, weight, target = example(20)
    assert not sliced_loss.sliced_cross_entropy(features, weight, target, PAD).loss.requires_grad
    own = weight.clone().requires_grad_()
    sliced_loss.sliced_cross_entropy(features, own, target, PAD).loss.backward()
    theirs = parts(features, weight)
    stock(*theirs, target, 0.0)[0].backward()
    torch.testing.assert_close(own.grad, theirs[1].grad, rtol=1e-4, atol=1e-5)


def test_logits_are_never_there_as_a_whole(monkeypatch):
    monkeypatch.setattr(sliced_loss, "CPU_SLICE", 100 * V)
    features, weight, target = example(2000)
    features.requires_grad_()
    largest = []

    class Watch(LiveMemory):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = super().__torch_dispatch__(function, types, args, kwargs)
            largest.append(max(self.alive(without=(features, target)), default=0))
            return out

    with Watch() as memory:
        loss = sliced_loss.sliced_cross_entropy(features, weight, target, PAD, 0.1).loss
        inputs = (features, weight, target)
        assert sum(memory.alive(without=inputs)) <= 4 * features.numel() + 100
        loss.backward()
    assert max(largest) <= max(4 * features.numel(), 8 * 100 * V)


def test_the_backward_pass_needs_no_second_gradient_of_the_weights():
    features, weight, target = example(20)
    x, w = parts(features, weight)
    with LiveMemory(least=w.numel()) as memory:
        loss = sliced_loss.sliced_cross_entropy(x, w, target, PAD, 0.1).loss
        loss.backward()
        of_weight = w.grad.untyped_storage().nbytes()
        assert memory.alive(without=(x, w, features, weight)) == [of_weight]


def test_a_second_backward_pass_is_refused():
    features, weight, target = example(20)
    loss = sliced_loss.sliced_cross_entropy(*parts(features, weight), target, PAD).loss
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="one backward pass"):
        loss.backward()


def criterion(name, task_dictionary, **options):
    defaults = {"label_smoothing": 0.1, "report_accuracy": True, "ignore_prefix_size": 0, "sentence_avg": False}
    task = SimpleNamespace(target_dictionary=task_dictionary)
    settings = {**defaults, **options}
    names = CRITERION_REGISTRY[name].__init__.__code__.co_varnames
    return CRITERION_REGISTRY[name](task, **{key: value for key, value in settings.items() if key in names})


@pytest.mark.parametrize("options", [{}, {"ignore_prefix_size": 2}, {"sentence_avg": True}], ids=str)
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("name", ["label_smoothed_cross_entropy", "cross_entropy"])
def test_criteria_log_and_learn_the_same(name, tied, options):
    model = build_small("rope", *(["--share-all-embeddings"] if tied else [])).eval()
    net_input = batch()
    target = net_input["prev_output_tokens"].roll(-1, dims=1)
    sample = {"net_input": net_input, "target": target, "ntokens": int(target.ne(PAD).sum())}
    results = []
    for prefix in ("", "sliced_"):
        model.zero_grad()
        one = criterion(prefix + name, model.decoder.dictionary, **options)
        loss, size, logged = one(model, sample)
        loss.backward()
        results.append((loss.item(), size, logged, [p.grad for p in model.parameters() if p.grad is not None]))
        with torch.no_grad():
            torch.testing.assert_close(one(model, sample, reduce=False)[0].sum(), loss.detach())
    (loss, size, logged, gradients), (found, found_size, found_logged, found_gradients) = results
    assert found == pytest.approx(loss, rel=1e-5) and found_size == size and found_logged.keys() == logged.keys()
    for key, value in logged.items():
        assert float(found_logged[key]) == pytest.approx(float(value), rel=1e-5), key
    assert len(found_gradients) == len(gradients)
    for x, y in zip(found_gradients, gradients):
        torch.testing.assert_close(x, y, rtol=1e-3, atol=1e-5)


def test_a_language_model_too():
    model = build_small_lm("alibi").eval()
    tokens = text()
    sample = {"net_input": {"src_tokens": tokens}, "target": tokens.roll(-1, dims=1), "ntokens": tokens.numel()}
    losses = [criterion(f"{p}cross_entropy", model.decoder.dictionary)(model, sample)[0] for p in ("", "sliced_")]
    torch.testing.assert_close(*losses)


@pytest.mark.parametrize("reduce", [True, False], ids=["summed", "per-token"])
def test_tokens_up_to_the_first_symbol_do_not_count(reduce):
    """The loss, its gradient and the numbers of tokens are those of the tokens after it, one by one."""
    model = build_small_lm("rope").eval()
    dictionary = model.decoder.dictionary
    symbol = 4
    target = torch.tensor([[9, symbol, 7, symbol, 8, PAD], [symbol, 5, 6, 5, 9, 8], [8, 9, 7, 6, 5, symbol]])
    kept = [(0, 2), (0, 3), (0, 4), *((1, place) for place in range(1, 6))]
    src_tokens = target.roll(1, dims=1)
    sample = {"net_input": {"src_tokens": src_tokens}, "target": target, "ntokens": 17}
    logits = model(src_tokens)[0].log_softmax(dim=-1)
    wanted = -sum(logits[row, place, target[row, place]] for row, place in kept)
    gradient = torch.autograd.grad(wanted, model.decoder.embed_tokens.weight)[0]
    answers = criterion("sliced_cross_entropy", dictionary, ignore_prefix_until=dictionary[symbol])
    loss, size, logged = answers(model, sample, reduce=reduce)
    loss = loss.sum()
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(torch.autograd.grad(loss, model.decoder.embed_tokens.weight)[0], gradient)
    assert size == logged["sample_size"] == logged["ntokens"] == len(kept)
    assert sample["ntokens"] == 17 and sample["target"] is target and target[0, 0] == 9  # the sample is as it was


def test_a_prefix_that_cannot_end_is_refused_in_one_line():
    model = build_small_lm("none")
    dictionary = model.decoder.dictionary
    with pytest.raises(
        InputError, match="--ignore-prefix-until => is not in the dictionary; give a token of"
    ) as caught:
        criterion("sliced_cross_entropy", dictionary, ignore_prefix_until="=>")
    assert "\n" not in str(caught.value)
    tokens = torch.tensor([[4, 5, 6], [5, 6, 7]])
    sample = {"net_input": {"src_tokens": tokens}, "target": tokens, "ntokens": 6}
    with pytest.raises(
        InputError, match=f"a sample has no {dictionary[4]}, which --ignore-prefix-until names"
    ) as caught:
        criterion("sliced_cross_entropy", dictionary, ignore_prefix_until=dictionary[4])(model, sample)
    assert "\n" not in str(caught.value)


def test_autocast():
    model = build_small("none").train()
    net_input = batch()
    target = net_input["prev_output_tokens"]
    sample = {"net_input": net_input, "target": target, "ntokens": 1}
    found = []
    for prefix in ("", "sliced_"):
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(f"{prefix}label_smoothed_cross_entropy", model.decoder.dictionary)(model, sample)[0]
        loss.backward()
        found.append((loss.item(), model.decoder.output_projection.weight.grad.norm().item()))
    assert found[1] == pytest.approx(found[0], rel=0.02)


def test_adaptive_softmax_is_refused_in_one_line():
    model = build_small_lm("none", "--criterion", "adaptive_loss", "--adaptive-softmax-cutoff", "6,12")
    tokens = text()
    sample = {"net_input": {"src_tokens": tokens}, "target": tokens, "ntokens": 1}
    with pytest.raises(InputError, match="is not for an adaptive softmax; give --criterion adaptive_loss") as caught:
        criterion("sliced_cross_entropy", model.decoder.dictionary)(model, sample)
    assert "\n" not in str(caught.value)


def losses_of(log):
    return [float(number) for number in re.findall(r"\| loss ([\d.]+)", log)]


def test_a_training_run_has_the_losses_of_stock(reversal_data, tmp_path):
    words = (*PLUGIN_TRAINING, *small_flags("none"), "--dropout", "0", "--max-epoch", "3", "--update-freq", "2")
    command = ("fairseq-train", reversal_data, "--arch", architecture("none"), *words, "--no-save")
    stock_log = with_plugin(*command)
    ours = ("--criterion", "sliced_label_smoothed_cross_entropy", "--optimizer", "fused_adam")
    log = with_plugin(*command, *ours)
    assert len(losses_of(log)) == 6 and losses_of(log) == pytest.approx(losses_of(stock_log), abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_two_processes_have_the_losses_of_stock(tied, reversal_data):
    """Gradients of a shared embedding come from two sides; an unshared output layer is used by the loss alone."""
    training = PLUGIN_TRAINING if tied else [word for word in PLUGIN_TRAINING if word != "--share-all-embeddings"]
    words = (*training, *small_flags("none"), "--dropout", "0", "--max-epoch", "3", "--no-save", "--cpu")
    words = (*words, "--find-unused-parameters")
    launch = (BIN / "torchrun", "--nproc_per_node", 2, "--standalone", BIN / "fairseq-train", reversal_data)
    plugin = ("--user-dir", ROOT / "fairseq_posenc", "--arch", architecture("none"), "--distributed-backend", "gloo")
    ours = ("--criterion", "sliced_label_smoothed_cross_entropy", "--optimizer", "fused_adam")
    expected, found = (losses_of(output(*launch, *plugin, *words, *more)) for more in ((), ours))
    assert len(expected) == 6 and found == pytest.approx(expected, abs=2e-3)
