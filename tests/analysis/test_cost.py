"""What the measurements of cost do, apart from the clock."""

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator

from fairseq_posenc.analysis.cost import Forward, Generation, TrainingStep, check_limits, quartiles
from fairseq_posenc.analysis.workload import STOCK, LanguageModels, Translation
from fairseq_posenc.errors import InputError
from fairseq_posenc.generation.generator import FastGenerator
from fairseq_posenc.models.packed import can_pack

SMALL = Translation(size="iwslt_de_en", vocab_size=20, length=5, sentences=2)


def test_quartiles():
    assert quartiles([4.0, 1.0, 3.0, 2.0, 5.0]) == [2.0, 4.0]
    assert quartiles([1.0, 2.0]) == [1.25, 1.75]
    assert quartiles([7.0]) == [7.0, 7.0]


@pytest.mark.parametrize("system", [STOCK, "shaw"])
def test_forward_runs_the_batch_ten_times_and_changes_nothing(system):
    run = Forward(SMALL, system)
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    seen = []
    run.model.decoder.register_forward_hook(lambda module, inputs, output: seen.append(output[0]))
    run()
    assert len(seen) == 10 and all(torch.equal(seen[0], other) for other in seen)
    assert seen[0].shape == (2, 5, 24) and not seen[0].requires_grad
    # A number that stock fairseq never writes may be NaN.
    torch.testing.assert_close(dict(run.model.state_dict()), before, rtol=0, atol=0, equal_nan=True)


def test_training_step_updates_the_model_and_keeps_no_gradients():
    step = TrainingStep(SMALL, "t5")
    before = [parameter.clone() for parameter in step.model.parameters()]
    step()
    assert any(not torch.equal(old, new) for old, new in zip(before, step.model.parameters()))
    assert all(parameter.grad is None for parameter in step.model.parameters())


def test_generation_is_that_of_fairseq_generate():
    stock, ours = (Generation(SMALL, system) for system in (STOCK, "rope"))
    assert (type(stock.generator), type(ours.generator)) == (SequenceGenerator, FastGenerator)
    (model,) = ours.generator.model.models
    assert not can_pack() or model.decoder.layers[0].self_attn.packed_projections is not None


def test_models_take_the_length_of_the_workload():
    assert Translation(size="iwslt_de_en", vocab_size=20, length=2000).model("learned").max_positions() == (2001, 2001)
    assert Translation(size="iwslt_de_en", vocab_size=20, length=20).model("learned").max_positions() == (1024, 1024)


@pytest.mark.parametrize("size", ["tiny", "base", "gpt2_medium"])
def test_stock_language_model_is_that_of_the_size(size):
    workload = LanguageModels(size=size, vocab_size=20, length=5, sentences=2)
    stock, ours = (workload.model(system).eval() for system in (STOCK, "sinusoidal"))
    assert type(stock) is not type(ours)
    ours.load_state_dict(stock.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(stock(*workload.inputs())[0], ours(*workload.inputs())[0])
    for module, other in zip(stock.decoder.layers, ours.decoder.layers):
        assert module.dropout_module.p == other.dropout_module.p
        assert module.self_attn.dropout_module.p == other.self_attn.dropout_module.p


def test_limits_are_checked_beforehand():
    check_limits(Translation(length=512), ["posnet-embed", "posnet-attn", "learned"], generates=False)
    check_limits(Translation(length=4000), ["learned", "sinusoidal", "rope"], generates=True)
    with pytest.raises(InputError, match="posnet-embed 512; leave out encodings with too few: --encodings rope,t5"):
        check_limits(Translation(length=512), ["rope", "posnet-embed", "t5"], generates=True)
    with pytest.raises(InputError, match="give at most 511"):
        check_limits(Translation(length=600), ["posnet-embed"], generates=True)
