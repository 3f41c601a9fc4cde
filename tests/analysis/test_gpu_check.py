"""fairseq-posenc gpu-check, which scripts/gpu_check.sh runs: on a CPU, where the device computes what it should."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator

from fairseq_posenc.analysis.gpu_check import PARTS
from fairseq_posenc.analysis.gpu_check.cases import batch, build, sizes_of
from fairseq_posenc.analysis.gpu_check.kernels import kernels_of
from fairseq_posenc.analysis.gpu_check.lengths import kept
from fairseq_posenc.analysis.gpu_check.parity import relative_errors
from fairseq_posenc.attention import computation
from fairseq_posenc.cli import main
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.generation.generator import FastGenerator

SCRIPT = Path(__file__).parents[2] / "scripts/gpu_check.sh"
CPU = sizes_of("cpu")


def check(out, *words):
    """(exit status, JSON) of a check without the trainings."""
    status = main(["gpu-check", "--json", str(out), *words])
    return status, json.loads(out.read_text())


def test_what_is_kept_in_slices_counts(monkeypatch):
    """What slices keep for their backward pass is seen: queries, keys and values, but nothing for pairs of tokens."""
    length = 256
    model = build(CPU, "alibi", "full", dim=CPU.wide, layers=1, length=length)
    (text,) = batch(CPU, "full", length, texts=1)[0]
    whole = kept(model, text)
    monkeypatch.setattr(computation, "CPU", computation.Sizes(whole=1, slice=2**14, keys=1))
    slices = kept(model, text)
    added = 4 * CPU.heads * length * length
    assert whole - added <= slices < whole - added / 2


def test_all_parts_but_training(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    words = ["--only", "parity,kernels,beam,syncs,lengths", "--encodings", "shaw,t5", "--families", "translation,full"]
    status, result = check(tmp_path / "out.json", *words)
    assert status == 0
    assert result["kind"] == "gpu-check" and result["device"] and result["command"] and result["versions"]["torch"]
    assert result["finished"] == ["parity", "kernels", "beam", "syncs", "lengths"]
    systems = ["stock", "shaw", "t5"]
    assert [row["system"] for row in result["beam"]] == systems
    for part in ("parity", "kernels", "syncs"):
        both = [(row["system"], row["family"]) for row in result[part]]
        assert both == [(name, family) for name in systems for family in ("translation", "full")]
    for row in result["parity"]:
        assert row["agrees"] and row["errors"]["fp32"] == [0, 0]
        assert all(0 < error < 0.1 for name in ("fp16", "bf16", "amp") for error in row["errors"][name])
    kernels = {(row["system"], row["family"]): row["kernels"] for row in result["kernels"]}
    assert kernels["shaw", "translation"] == {"encoder": ["own products"], "decoder": ["own products"]}
    assert kernels["stock", "full"] == {"decoder": ["flash of the CPU"]}
    assert [row["length"] for row in result["lengths"]] == 3 * list(CPU.lengths)
    out = capsys.readouterr().out
    assert out.startswith("gpu_check: no GPU; measuring tiny models on the CPU\n") and "DIFFERS" not in out


def test_stock_has_no_patterns_and_encodings_have():
    parity = PARTS["parity"].rows(CPU, ["stock", "rope"], ["window", "blockwise"])
    assert [(row["system"], row["family"]) for row in parity] == [("rope", "window:8"), ("rope", "blockwise:16")]


def test_an_encoding_that_is_wrong_in_half_precision_differs(tmp_path, capsys, monkeypatch):
    rope = encoding_class("rope")
    rotate = rope.rotate

    def broken(self, q, k, *columns):
        q, k = rotate(self, q, k, *columns)
        return (q, k) if q.dtype == torch.float32 else (q, k.flip(-1))

    monkeypatch.setattr(rope, "rotate", broken)
    status, result = check(tmp_path / "out.json", "--only", "parity", "--encodings", "rope", "--families", "full")
    assert status == 1
    assert {row["system"]: row["agrees"] for row in result["parity"]} == {"stock": True, "rope": False}
    assert "DIFFERS" in capsys.readouterr().out


def test_gradients_of_an_encoding_alone_that_are_lost_differ(monkeypatch):
    """They are small beside those of the whole model."""
    t5 = encoding_class("t5")
    by_distance = t5.by_distance

    def broken(self, *args):
        bias = by_distance(self, *args)
        return bias.detach() if self.weight.dtype == torch.float16 else bias

    monkeypatch.setattr(t5, "by_distance", broken)
    (row,) = PARTS["parity"].rows(CPU, ["t5"], ["translation"])
    assert not row["agrees"] and row["errors"]["fp16"][1] == pytest.approx(1, rel=0.01)
    assert row["errors"]["bf16"][1] < 0.1


def test_numbers_that_are_none_differ(monkeypatch):
    nan = torch.full((3,), float("nan"))
    assert all(error != error for error in relative_errors((nan, nan, nan), (torch.ones(3),) * 3))
    rope = encoding_class("rope")
    monkeypatch.setattr(rope, "rotate", lambda self, q, k, *columns: (q * float("nan"), k))
    (row,) = PARTS["parity"].rows(CPU, ["rope"], ["full"])
    assert not row["agrees"] and row["errors"]["fp16"] == [None, None]


def test_a_beam_search_that_differs(tmp_path, monkeypatch):
    """The second search, which stands for the device's, takes another word every time."""
    beam, best = PARTS["beam"], PARTS["beam"].best
    calls = []

    def broken(model, inputs, device, generator):
        calls.append(generator)
        if len(calls) % 2 == 0:
            model.decoder.embed_tokens.weight.data.neg_()
        return best(model, inputs, device, generator)

    monkeypatch.setattr(beam, "best", broken)
    status, result = check(tmp_path / "out.json", "--only", "beam", "--encodings", "none")
    assert status == 1 and not any(row["agrees"] for row in result["beam"])
    # What fairseq-generate uses is compared with fairseq's generator.
    assert calls == [SequenceGenerator, SequenceGenerator, SequenceGenerator, FastGenerator]


def test_an_interruption_loses_nothing(tmp_path, monkeypatch):
    beam, best = PARTS["beam"], PARTS["beam"].best
    calls = []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return best(*args)

    monkeypatch.setattr(beam, "best", interrupted)
    with pytest.raises(KeyboardInterrupt):
        check(tmp_path / "out.json", "--only", "beam", "--encodings", "none")
    result = json.loads((tmp_path / "out.json").read_text())
    assert [row["system"] for row in result["beam"]] == ["stock"] and result["finished"] == []


def test_the_math_kernel_is_seen():
    model, (inputs, _) = build(CPU, "alibi", "full"), batch(CPU, "full")
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert kernels_of(model, inputs) == {"decoder": ["math"]}


def test_a_read_of_a_tensor_is_counted():
    class Reading(torch.nn.Module):
        def forward(self, x):
            return x if bool((x > 0).any()) else -x

    with PARTS["syncs"].counting("cpu") as found:
        Reading()(torch.ones(3))
    assert len(found) == 1


def test_trainings_take_turns():
    rows = PARTS["training"].rows(CPU, ["stock", "alibi", "rope"], ["translation"])
    first = [next(rows), next(rows)]
    rows.close()
    assert [row["system"] for row in first] == ["stock", "alibi"]
    assert all(row["words_per_second"] > 0 and row["peak_bytes"] > 2**26 for row in first)


def test_a_training_that_fails_is_told(tmp_path):
    row = PARTS["training"].train(tmp_path / "nowhere", "stock", CPU)
    assert "nowhere" in row["error"] and "\n" not in row["error"]
    assert "FAILED: " in PARTS["training"].line({"system": "stock", "round": 1, **row})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--only", "speed"], "--only must be of parity, kernels, beam, syncs, training, lengths, but is speed"),
        (["--families", "all"], "--families must be of translation, full, window, blockwise, but is all"),
        (["--encodings", "rop"], "did you mean rope"),
        (["--json", "/nonexistent/x.json"], "does not exist"),
    ],
)
def test_bad_input_is_one_line(words, told, capsys):
    assert main(["gpu-check", *words]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1


def test_the_script(tmp_path):
    environment = {**os.environ, "VENV": str(Path(sys.executable).parents[1]), "CUDA_VISIBLE_DEVICES": ""}
    words = ["--only", "kernels", "--encodings", "none", "--families", "full", "--json", tmp_path / "out.json"]
    done = subprocess.run([SCRIPT, *words], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "USDT" not in done.stderr, done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["finished"] == ["kernels"]
    assert "gpu_check.json" in subprocess.run([SCRIPT, "-h"], capture_output=True, text=True, check=True).stdout


def test_the_table_of_kernels_has_every_encoding():
    text = (SCRIPT.parents[1] / "docs/gpu.md").read_text(encoding="utf-8").partition("## What was seen")[0]
    first_cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert set(encoding_names()) <= set(re.findall(r"`([\w-]+)`", " ".join(first_cells)))
