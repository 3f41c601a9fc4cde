"""``fairseq-posenc extrapolate``: what is in the file, runs that go on, and mistakes that end in one line."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_posenc.analysis import extrapolation
from fairseq_posenc.analysis.language_model import load_model, read_text
from fairseq_posenc.cli import main
from tests.support.language_models import change, write_text


def run(data, paths, out, *words, status=0):
    words = [str(data), "--path", *map(str, paths), "--json", str(out), *map(str, words)]
    assert main(["extrapolate", *words]) == status
    return json.loads(out.read_text()) if status == 0 else None


@pytest.fixture
def counted(monkeypatch):
    """Count the calls that run a model over the text; stop with KeyboardInterrupt once ``limit`` are done."""
    real, calls = extrapolation.token_losses, []

    def token_losses(*args):
        if len(calls) == token_losses.limit:
            raise KeyboardInterrupt
        calls.append(1)
        return real(*args)

    token_losses.limit = math.inf
    monkeypatch.setattr(extrapolation, "token_losses", token_losses)
    token_losses.calls = calls
    return token_losses


def test_by_position(lm_data, lm_checkpoint, tmp_path):
    """Every number is the mean over all pieces of one or more positions in them."""
    path = lm_checkpoint("rope")
    words = ["--protocol", "by-position", "--lengths", "40,8", "--bucket", 3, "--patterns", "window:4"]
    record = run(lm_data, [path], tmp_path / "out.json", *words)
    assert record["kind"] == "by-position" and record["text"]["tokens"] == 160 and record["text"]["trimmed"] == 32
    text = read_text(lm_data, "test").first(160)
    loaded = load_model(path, text)
    loaded.use_pattern("window:4")
    for cell, length in zip(record["cells"], (8, 40)):
        assert (cell["length"], cell["tokens"], cell["pattern"]) == (length, 160, "window:4")
        pieces = text.inputs.view(-1, length)
        log_probs = torch.log_softmax(loaded.model(pieces)[0], dim=2)
        losses = -log_probs.gather(2, text.tokens.view(-1, length, 1)).squeeze(2)
        firsts = list(range(0, length, 3))
        assert cell["positions"]["from"] == firsts
        expected = [float(losses[:, first : first + 3].mean()) for first in firsts]
        assert cell["positions"]["loss"] == pytest.approx(expected, abs=1e-5)
        assert cell["loss"] == pytest.approx(float(losses.mean()), abs=1e-5)
        assert cell["perplexity"] == pytest.approx(math.exp(cell["loss"]))


def test_record(lm_data, lm_checkpoint, tmp_path, capsys):
    paths = [lm_checkpoint(name, seed=seed) for name in ("alibi", "none") for seed in (1, 2)]
    words = ["--names", "a", "a", "b", "b", "--protocol", "last-token", "--segments", 20, "--lengths", "8,32"]
    record = run(lm_data, paths, tmp_path / "out.json", *words, "--patterns", "full,window:8")
    assert record["kind"] == "extrapolation" and record["baseline"] == "a" and record["versions"]["torch"]
    assert record["protocol"] == {"name": "last-token", "segments": 20, "seed": 1, "by_seed": False}
    checkpoints = [(one["name"], one["seed"], one["encoding"], one["training_length"]) for one in record["checkpoints"]]
    assert checkpoints == [("a", 1, "alibi", 16), ("a", 2, "alibi", 16), ("b", 1, "none", 16), ("b", 2, "none", 16)]
    cells = [(c["name"], c["pair"], c["pattern"], c["length"]) for c in record["cells"]]
    expected = [(n, i, p, size) for n in "ab" for i in (0, 1) for p in ("full", "window:8") for size in (8, 32)]
    assert cells == expected
    assert {(c["tokens"], c["token_set"]) for c in record["cells"]} == {(20, record["cells"][0]["token_set"])}
    rows = {(row["name"], row["pattern"], row["length"]): row for row in record["summary"]}
    mine = [c["perplexity"] for c in record["cells"] if (c["name"], c["pattern"], c["length"]) == ("b", "full", 32)]
    row = rows["b", "full", 32]
    assert row["perplexity"] == pytest.approx(np.mean(mine)) and row["deviation"] == pytest.approx(np.std(mine, ddof=1))
    assert 0 < row["p"] < 1 and rows["a", "full", 32]["p"] is None
    table = capsys.readouterr().out.split("\n")
    assert table[0].split() == ["length", "a", "full", "a", "window:8", "b", "full", "b", "window:8"]
    assert table[2].split()[0] == "32" and f"{row['perplexity']:.2f} ± {row['deviation']:.2f}" in table[2]
    assert "20 tokens scored at every length" in table[3]


def test_a_draw_for_every_seed(lm_data, lm_checkpoint, tmp_path):
    """Checkpoints of one place in their system share a draw, others do not."""
    paths = [lm_checkpoint(name, seed=seed) for name in ("alibi", "none") for seed in (1, 2)]
    words = ["--names", "a", "a", "b", "b", "--protocol", "last-token", "--segments", 20, "--lengths", "4,8"]
    record = run(lm_data, paths, tmp_path / "out.json", *words, "--segments-by-seed")
    sets = {pair: {c["token_set"] for c in record["cells"] if c["pair"] == pair} for pair in (0, 1)}
    assert len(sets[0]) == len(sets[1]) == 1 and sets[0] != sets[1]


def test_an_interrupted_run_goes_on(lm_data, lm_checkpoint, tmp_path, counted):
    paths, out = [lm_checkpoint("alibi"), lm_checkpoint("rope")], tmp_path / "out.json"
    words = ["--names", "alibi", "rope", "--protocol", "pieces", "--lengths", "8,16,32"]
    counted.limit = 4
    with pytest.raises(KeyboardInterrupt):
        run(lm_data, paths, out, *words)
    kept = json.loads(out.read_text())["cells"]
    assert [(cell["name"], cell["length"]) for cell in kept] == [
        ("alibi", 8),
        ("alibi", 16),
        ("alibi", 32),
        ("rope", 8),
    ]
    counted.limit = math.inf
    record = run(lm_data, paths, out, *words)
    assert len(counted.calls) == 6 and record["cells"][:4] == kept
    assert run(lm_data, paths, tmp_path / "again.json", *words)["cells"] == record["cells"]
    # Nothing is left to do; then more of everything.
    run(lm_data, paths, out, *words)
    assert len(counted.calls) == 12
    more = run(
        lm_data, [lm_checkpoint("none")], out, "--names", "none", *words[3:-1], "32,8", "--patterns", "full,window:3"
    )
    assert len(counted.calls) == 16 and len(more["cells"]) == 10 and more["baseline"] == "alibi"


def test_trained_pattern(lm_data, lm_checkpoint, tmp_path):
    """The default is the pattern of the checkpoint; asked for by name too, it is not computed twice."""
    path = lm_checkpoint("alibi", "--attention-pattern", "window:4")
    words = ["--protocol", "pieces", "--lengths", "32"]
    assert [c["pattern"] for c in run(lm_data, [path], tmp_path / "a.json", *words)["cells"]] == ["window:4"]
    record = run(lm_data, [path], tmp_path / "b.json", *words, "--patterns", "trained,window:4,full")
    assert [cell["pattern"] for cell in record["cells"]] == ["window:4", "full"]
    # Where nothing is longer than the window, it hides nothing.
    short = run(lm_data, [path], tmp_path / "c.json", *words[:-1], "4,32", "--patterns", "full,window:4")
    losses = {(cell["pattern"], cell["length"]): cell["loss"] for cell in short["cells"]}
    assert losses["full", 4] == pytest.approx(losses["window:4", 4], abs=1e-6)
    assert abs(losses["full", 32] - losses["window:4", 32]) > 1e-3


def test_half_precision_and_overrides(lm_data, lm_checkpoint, tmp_path):
    words = ["--protocol", "pieces", "--lengths", "32"]
    paths = [lm_checkpoint("xpos")]
    exact, bf16, other = (
        run(lm_data, paths, tmp_path / f"{number}.json", *words, *more)["cells"][0]["loss"]
        for number, more in enumerate(([], ["--precision", "bf16"], ["--model-overrides", "{'xpos_rotation': 'off'}"]))
    )
    assert exact != bf16 == pytest.approx(exact, rel=0.02)
    assert abs(other - exact) > 1e-3


def test_losses_that_are_not_finite(lm_data, lm_checkpoint, tmp_path, capsys):
    """Weights that overflow in fp16 are a result, and the file stays JSON."""
    path = change(
        lm_checkpoint("alibi"),
        tmp_path / "large.pt",
        **{"decoder.output_projection.weight": lambda weight: weight.mul_(1e5)},
    )
    words = ["--protocol", "pieces", "--lengths", "16", "--precision", "fp16"]
    record = run(lm_data, [path], tmp_path / "out.json", *words)
    (cell,) = record["cells"]
    assert cell["loss"] is None and cell["not_finite"] == cell["tokens"] == 192
    assert "not finite" in capsys.readouterr().out


@pytest.fixture
def broken(lm_data, lm_checkpoint, tmp_path):
    """Return a function: kind -> a checkpoint with that fault."""

    def write(kind):
        source, target = lm_checkpoint("alibi"), tmp_path / f"{kind}.pt"
        if kind == "nan":
            change(source, target, **{"decoder.layers.1.fc1.bias": lambda bias: bias[2].fill_(math.nan)})
        elif kind == "cut-off":
            content = Path(source).read_bytes()
            target.write_bytes(content[: len(content) // 2])
        elif kind == "no-model":
            torch.save({"model": {}, "epoch": 3}, target)
        elif kind == "weights-alone":
            torch.save(torch.load(source)["model"], target)
        return target

    return write


PIECES = ("--protocol", "pieces", "--lengths", "16,32")
MISTAKES = [
    ("alibi", "--protocol pieces --lengths 16,256", "length 256 is more than the text's 192 tokens"),
    ("alibi", "--protocol pieces --lengths 16,0", "--lengths: 0 is too small for protocol pieces; give 1 or more"),
    (
        "alibi",
        "--protocol last-token --lengths 16,1",
        "--lengths: 1 is too small for protocol last-token; give 2 or more",
    ),
    ("alibi", "--protocol pieces --lengths 16,16", "--lengths: 16 is given twice"),
    (
        "alibi",
        "--protocol last-token --lengths 64",
        "--segments 1000: length 64 needs 63 preceding tokens, which only 129",
    ),
    ("alibi", "--protocol sliding --lengths 16", "--protocol sliding needs --stride"),
    ("alibi", "--protocol sliding --stride 0 --lengths 16", "--stride must be at least 1, but is 0"),
    ("alibi", "--protocol pieces --stride 4 --lengths 16", "--stride is an option of --protocol sliding"),
    ("alibi", "--protocol pieces --segments-by-seed --lengths 16", "--segments-by-seed is an option of --protocol las"),
    ("alibi", "--protocol pieces --lengths 16 --tokens 193", "--tokens 193: the split test of"),
    ("alibi", "--protocol pieces --lengths 16 --max-tokens 0", "--max-tokens must be at least 1, but is 0"),
    (
        "alibi",
        "--protocol pieces --lengths 16 --subset dev",
        "has no split dev; choose one of its splits with --subset: ",
    ),
    ("alibi", "--protocol pieces --lengths 16 --model-overrides 3", "--model-overrides 3 is not a dictionary"),
    (
        "alibi",
        "--protocol pieces --lengths 16 --patterns window",
        "must be one of full, window:W, blockwise:L or sinks:S,window:W, with",
    ),
    ("alibi", "--protocol pieces --lengths 16 --patterns full,blockwise:7", "blockwise:7: blocks are half of this len"),
    ("alibi", "--protocol pieces --lengths 16 --names a b", "--names has 2 names for 1 checkpoints"),
    ("alibi", "--protocol pieces --lengths 16 --baseline rope", "--baseline rope is not among the systems"),
    ("learned", "--protocol pieces --lengths 16,32", "length 32 is too long for"),
    ("learned", "--protocol last-token --segments 9 --lengths 17,18", "its encoding learned has 16 positions; leave"),
]


@pytest.mark.parametrize(("encoding", "words", "message"), MISTAKES)
def test_mistakes_end_in_one_line(encoding, words, message, lm_data, lm_checkpoint, tmp_path, capsys, counted):
    out = tmp_path / "out.json"
    run(lm_data, [lm_checkpoint(encoding)], out, *words.split(" "), status=2)
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not counted.calls and not out.exists()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nan", "1 of the 24 numbers of the parameter decoder.layers.1.fc1.bias are NaN or infinite"),
        ("cut-off", "cut-off.pt is not a complete checkpoint"),
        ("no-model", "no-model.pt is not a checkpoint of fairseq-train"),
        ("weights-alone", "weights-alone.pt is not a checkpoint of fairseq-train"),
        ("missing", "missing.pt: no such file"),
    ],
)
def test_broken_checkpoints(kind, message, lm_data, lm_checkpoint, broken, tmp_path, capsys, counted):
    """Told before the first forward pass, also of a good checkpoint before it."""
    out = tmp_path / "out.json"
    run(lm_data, [lm_checkpoint("alibi"), broken(kind)], out, "--names", "good", "bad", *PIECES, status=2)
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not counted.calls and not out.exists()


def test_memory_that_stock_fairseq_never_writes(lm_data, lm_checkpoint, tmp_path):
    """Its sinusoids have a number that marks their type alone, and may be NaN."""
    paths = [lm_checkpoint("sinusoidal", arch="transformer_lm_gpt"), tmp_path / "unwritten.pt"]
    change(*paths, **{"decoder.embed_positions._float_tensor": lambda number: number.fill_(math.nan)})
    record = run(lm_data, paths, tmp_path / "out.json", "--names", "a", "b", *PIECES[:-1], "16")
    first, second = (cell["loss"] for cell in record["cells"])
    assert first == second and math.isfinite(first)


def test_another_dictionary(lm_data, lm_checkpoint, tmp_path, capsys):
    flags = ["--adaptive-input", "--adaptive-input-cutoff", "6,10", "--adaptive-input-factor", 2]
    for encoding, options in (("alibi", []), ("alibi", flags)):
        path = lm_checkpoint(encoding, *options)
        other = write_text(tmp_path / "other", tokens=100, words=15)
        run(other, [path], tmp_path / "out.json", *PIECES, status=2)
        error = capsys.readouterr().err
        assert path in error and "dictionary" in error and error.count("\n") == 1


def test_other_models(lm_data, lm_checkpoint, tmp_path, capsys):
    """Patterns of a stock model; text that begins with a symbol of its own; an encoder-decoder."""
    stock = lm_checkpoint("sinusoidal", arch="transformer_lm_gpt")
    run(lm_data, [stock], tmp_path / "out.json", *PIECES[:-1], "16", "--patterns", "full,window:4", status=2)
    assert "is a model of stock fairseq, without attention patterns" in capsys.readouterr().err
    run(lm_data, [stock], tmp_path / "out.json", *PIECES, status=2)
    assert "the model of stock fairseq has 16 positions" in capsys.readouterr().err
    run(lm_data, [lm_checkpoint("alibi", "--add-bos-token")], tmp_path / "out.json", *PIECES, status=2)
    assert "was trained with --add-bos-token" in capsys.readouterr().err
    state = torch.load(lm_checkpoint("alibi"))
    state["model"]["encoder.embed_tokens.weight"] = torch.ones(2, 2)
    torch.save(state, tmp_path / "two.pt")
    run(lm_data, [tmp_path / "two.pt"], tmp_path / "out.json", *PIECES, status=2)
    assert "is an encoder-decoder; give a checkpoint of --task language_modeling" in capsys.readouterr().err


def test_a_file_of_something_else_is_kept(lm_data, lm_checkpoint, tmp_path, capsys):
    out = tmp_path / "out.json"
    path = tmp_path / "model" / "checkpoint_best.pt"
    path.parent.mkdir()
    shutil.copy(lm_checkpoint("alibi"), path)
    run(lm_data, [path], out, "--protocol", "last-token", "--segments", "9", "--lengths", "16")
    before = out.read_text()
    for words, message in [
        (PIECES, "another setting (protocol, name: last-token, now pieces)"),
        (["--protocol", "last-token", "--segments", "8", "--lengths", "16"], "(protocol, segments: 9, now 8)"),
        (["--protocol", "last-token", "--segments", "9", "--lengths", "24"], "scored other tokens at length "),
        (["--protocol", "last-token", "--segments", "9", "--lengths", "16", "--tokens", "100"], "(text, tokens: 192"),
    ]:
        run(lm_data, [path], out, *words, status=2)
        assert message in capsys.readouterr().err and out.read_text() == before
    shutil.copy(lm_checkpoint("alibi", seed=2), path)
    run(lm_data, [path], out, "--protocol", "last-token", "--segments", "9", "--lengths", "16", status=2)
    assert "results of another checkpoint" in capsys.readouterr().err and out.read_text() == before
    out.write_text('{"kind": "cost"}')
    run(lm_data, [path], out, *PIECES, status=2)
    assert "holds 'cost', which is no kind that extrapolate adds to" in capsys.readouterr().err
    assert out.read_text() == '{"kind": "cost"}'


def test_names_of_checkpoints(lm_data, lm_checkpoint, tmp_path, capsys):
    one, two = tmp_path / "alibi" / "checkpoint_best.pt", tmp_path / "alibi" / "checkpoint_last.pt"
    one.parent.mkdir()
    for target in (one, two):
        shutil.copy(lm_checkpoint("alibi"), target)
    run(lm_data, [one, two], tmp_path / "out.json", *PIECES, status=2)
    assert "several checkpoints are in folders named alibi; name the system" in capsys.readouterr().err
    run(lm_data, [one, one], tmp_path / "out.json", "--names", "a", "b", *PIECES, status=2)
    assert "is given twice; give each checkpoint once" in capsys.readouterr().err
    assert run(lm_data, [one], tmp_path / "out.json", *PIECES)["cells"][0]["name"] == "alibi"
