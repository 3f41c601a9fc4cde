"""Measuring in the precisions in which fairseq trains."""

import json

import pytest
import torch

from fairseq_posenc.analysis.cost import Forward, TrainingStep
from fairseq_posenc.analysis.precision import Updates, missing_kernels_in_one_line
from fairseq_posenc.analysis.workload import Translation
from fairseq_posenc.cli import main
from fairseq_posenc.errors import InputError

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
SMALL = ["--vocabulary", "20", "--rounds", "1"]


def small(precision):
    return Translation(size="iwslt_de_en", vocab_size=20, length=5, sentences=2, precision=precision)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_models_have_the_parameters_that_fairseq_gives_them(precision):
    step = TrainingStep(small(precision), "t5")
    assert {parameter.dtype for parameter in step.model.parameters()} == {DTYPES[precision]}
    before = [parameter.clone() for parameter in step.model.parameters()]
    step()
    assert any(not torch.equal(old, new) for old, new in zip(before, step.model.parameters()))
    assert all(parameter.grad is None for parameter in step.model.parameters())


def test_amp_keeps_the_parameters_and_casts_the_products():
    run = Forward(small("amp"), "t5")
    seen = []
    run.model.encoder.layers[0].fc1.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    run()
    assert {parameter.dtype for parameter in run.model.parameters()} == {torch.float32}
    assert set(seen) == {torch.bfloat16}


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_updates_too_small_for_half_precision_add_up(precision):
    """Adam's first updates are as large as the rate, which alone changes no 1 in half precision."""
    parameter = torch.nn.Parameter(torch.ones(1, dtype=DTYPES[precision]))
    update = Updates([parameter], precision, "cpu", lr=1e-4)
    for _ in range(100):
        update(parameter.float().sum())
    assert parameter.item() == pytest.approx(0.99, abs=0.005)


def test_an_update_that_overflows_is_left_out():
    parameter = torch.nn.Parameter(torch.ones(1, dtype=torch.float16))
    update = Updates([parameter], "fp16", "cpu")
    update(60000 * parameter.sum())  # times the scale of the loss, 128
    assert parameter.item() == 1 and parameter.grad is None


@pytest.mark.parametrize("precision", ["fp16", "bf16", "amp"])
def test_bench_records_the_precision(precision, tmp_path):
    out = tmp_path / "bench.json"
    words = ["--size", "iwslt_de_en", "--length", "3", "--sentences", "1", "--beam", "2", "--encodings", "xpos"]
    words += ["--measure", "training,generation,forward", "--precision", precision, "--json", str(out)]
    assert main(["bench", *SMALL, *words]) == 0
    result = json.loads(out.read_text())
    assert result["workload"]["precision"] == precision
    assert all(result[measure]["xpos"]["seconds"] > 0 for measure in ("training", "generation", "forward"))


def test_bench_patterns_records_the_precision(tmp_path):
    out = tmp_path / "patterns.json"
    words = ["--layers", "1", "--dim", "16", "--heads", "2", "--lengths", "8", "--encodings", "alibi,rope"]
    assert (
        main(["bench", "--patterns", "full,blockwise:4", *SMALL, *words, "--precision", "fp16", "--json", str(out)])
        == 0
    )
    result = json.loads(out.read_text())
    assert result["workload"]["precision"] == "fp16" and len(result["time"]) == 4


def test_an_operation_that_pytorch_lacks_in_this_precision_is_one_line():
    with pytest.raises(InputError) as caught, missing_kernels_in_one_line("fp16"):
        torch.geqrf(torch.ones(3, 3, dtype=torch.float16))
    line = str(caught.value)
    assert line.startswith("--precision fp16: PyTorch ") and "has no geqrf_cpu for fp16" in line and "\n" not in line
    with pytest.raises(RuntimeError, match="size"), missing_kernels_in_one_line("fp16"):
        torch.ones(3) @ torch.ones(4)
