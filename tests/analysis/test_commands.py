"""fairseq-posenc bench --commands: whole commands in turns, their time by part, and their matrix products."""

import importlib
import json
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import torch
from fairseq import models, options, search
from fairseq.optim.adam import Adam
from fairseq.trainer import Trainer
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from fairseq_posenc.analysis.commands import comparison
from fairseq_posenc.analysis.commands.arguments import COMMANDS, Runs, checkpoint_training
from fairseq_posenc.analysis.commands.comparison import compare, summary
from fairseq_posenc.analysis.commands.process import TOOLS, CommandFailed, Finished
from fairseq_posenc.analysis.commands.products import Products
from fairseq_posenc.analysis.commands.profile import PARTS, RECORDED, Profile
from fairseq_posenc.analysis.workload import LanguageModels, Translation
from fairseq_posenc.cli import commands as cli_commands
from fairseq_posenc.cli import main
from fairseq_posenc.generation import search as our_search
from fairseq_posenc.generation import stepwise
from fairseq_posenc.linear import product
from fairseq_posenc.models.packed import can_pack
from fairseq_posenc.optim.fused_adam import FusedAdam
from fairseq_posenc.plots import command_cost
from tests.support.commands import TINY
from tests.support.models import SMALL, build_model, words_of

PAIRS = Translation(vocab_size=30, size="iwslt_de_en", length=8, sentences=4, beam=2)
TEXTS = LanguageModels(vocab_size=30, size="tiny", length=16, sentences=2, beam=None)


def small_runs(workload, folder, batches=4):
    flags = ("--decoder-layers", "1") if workload is TEXTS else TINY
    runs = Runs(workload, batches, Path(folder), (*flags, "--num-workers", "0"))
    runs.write_data()
    return runs


# ---- the profile -----------------------------------------------------------------------------------------------------
class Naps:
    """Sleeps in known parts of a command, forward and backward, and knows how long it has slept in each."""

    def __init__(self):
        self.seconds, self.profile = Counter(), None

    def take(self, part):
        begin = time.perf_counter()
        # Longer than what else is in the rest, so that a nap of it elsewhere is missed in it.
        time.sleep(0.03 if part == "rest" else 0.004)
        if self.profile and self.profile.batches > RECORDED:
            self.seconds[part] += time.perf_counter() - begin

    def after(self, part):
        """A hook for modules."""
        naps = self

        class Nap(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                naps.take(part)
                return x.clone()

            @staticmethod
            def backward(ctx, gradient):
                naps.take(part)
                return gradient

        def hook(module, inputs, output):
            return (Nap.apply(output[0]), *output[1:]) if isinstance(output, tuple) else Nap.apply(output)

        return hook

    def before(self, part, function):
        def napping(*args, **options):
            self.take(part)
            return function(*args, **options)

        return napping

    def outside_of(self, result):
        """The parts with less time in a profile than the naps in them took."""
        spent = {part: seconds * result["batches"] for part, seconds in result["parts"].items()}
        return {part: (spent[part], slept) for part, slept in self.seconds.items() if spent[part] < slept}

    def in_model(self, model, tool):
        encoder = getattr(model, "encoder", None)
        for stack in filter(None, (encoder, model.decoder)):
            whole = "encoder" if tool == "generate" and stack is encoder else None
            for layer in stack.layers:
                for name in ("self_attn", "encoder_attn"):
                    attention = getattr(layer, name, None)
                    if attention is not None:
                        attention.register_forward_hook(self.after(whole or "attention"))
                layer.fc2.register_forward_hook(self.after(whole or "feed_forward"))
                layer.final_layer_norm.register_forward_hook(self.after(whole or "rest"))
        model.decoder.output_projection.register_forward_hook(self.after("output"))
        attention = model.decoder.layers[0].self_attn
        attention.reorder_incremental_state = self.before("cache", attention.reorder_incremental_state)
        return model


def run_here(tool, arguments, monkeypatch, profile=None):
    """Run fairseq's command in this process."""
    monkeypatch.setattr(sys, "argv", [f"fairseq-{tool}", *map(str, arguments)])
    command = importlib.import_module(TOOLS[tool]).cli_main
    if profile is None:
        command()
        return
    with profile:
        command()


@pytest.mark.parametrize("system", ["stock", "shaw"])
@pytest.mark.parametrize(
    ("name", "workload", "units"), [("train-stock-flags", PAIRS, 25), ("generate", PAIRS, 4), ("eval-lm", TEXTS, 32)]
)
def test_every_part_of_the_time_goes_to_its_name(name, workload, units, system, tmp_path, monkeypatch):
    runs, command, naps = small_runs(workload, tmp_path), COMMANDS[name], Naps()
    if command.needs_checkpoints:
        run_here("train", checkpoint_training(runs, system), monkeypatch)
    build = models.build_model
    monkeypatch.setattr(models, "build_model", lambda *args: naps.in_model(build(*args), command.tool))
    monkeypatch.setattr(search.BeamSearch, "step", naps.before("search", search.BeamSearch.step))
    monkeypatch.setattr(our_search, "best_continuations", naps.before("search", our_search.best_continuations))
    monkeypatch.setattr(stepwise, "log_softmax_", naps.before("output", stepwise.log_softmax_))
    monkeypatch.setattr(Adam, "step", naps.before("optimizer", Adam.step))
    before, naps.profile = Trainer.train_step, Profile(command.tool, "cpu")
    run_here(command.tool, command.arguments(runs, system), monkeypatch, naps.profile)
    result = naps.profile.result()
    assert (result["batches"], result["units"]) == (2, units) and result["flops"] > 0 < result["product_seconds"]
    assert sum(result["parts"].values()) == pytest.approx(result["seconds"], rel=0.01)
    assert list(result["parts"]) == list(PARTS[command.tool]) and set(naps.seconds) == set(PARTS[command.tool])
    assert not naps.outside_of(result)
    assert Trainer.train_step is before


def test_the_sliced_loss_and_the_fused_optimizer_have_their_parts(tmp_path, monkeypatch):
    from fairseq_posenc.criterions import cross_entropy

    runs, naps, profile = small_runs(PAIRS, tmp_path), Naps(), Profile("train", "cpu")
    naps.profile = profile
    loss = cross_entropy.sliced_cross_entropy
    monkeypatch.setattr(cross_entropy, "sliced_cross_entropy", naps.before("output", loss))
    monkeypatch.setattr(FusedAdam, "step", naps.before("optimizer", FusedAdam.step))
    run_here("train", COMMANDS["train"].arguments(runs, "t5"), monkeypatch, profile)
    assert set(naps.seconds) == {"output", "optimizer"}
    assert not naps.outside_of(profile.result())


# ---- matrix products -------------------------------------------------------------------------------------------------
def test_products_are_those_that_pytorch_counts():
    model = build_model("transformer_iwslt_de_en", *words_of(SMALL)).train()
    tokens = torch.randint(4, 20, (2, 5))
    # Its counter leaves out the fused attention of CPUs.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, Products() as products:
        model(tokens, None, tokens)[0].sum().backward()
    assert products.flops() == counter.get_total_flops() > 0


def test_products_of_fused_attention_and_in_place():
    q, k, v = (torch.randn(2, 3, length, dim, requires_grad=True) for length, dim in ((5, 8), (7, 8), (7, 8)))
    with Products() as products:
        F.scaled_dot_product_attention(q, k, v).sum().backward()
        torch.zeros(4, 6).addmm_(torch.ones(4, 9), torch.ones(9, 6))
        torch.baddbmm(torch.zeros(2, 3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5))
    sizes = Counter({product[:4]: count for product, count in products.counts.items()})
    assert sizes == {(6, 5, 8, 7): 3, (6, 5, 7, 8): 3, (1, 4, 9, 6): 1, (2, 3, 4, 5): 1}
    assert products.flops() == 2 * (6 * 6 * 5 * 7 * 8 + 4 * 9 * 6 + 2 * 3 * 4 * 5)


@pytest.mark.skipif(not can_pack(), reason="this PyTorch has no products of oneDNN")
def test_products_of_onednn_are_timed_as_such():
    x, weight = torch.randn(5, 8, requires_grad=True), torch.randn(6, 8, requires_grad=True)
    with Products() as products:
        product(x, weight).sum().backward()
    forward, of_x, of_weight = (5, 8, 6), (5, 6, 8), (6, 5, 8)
    assert products.counts == {
        (1, *shape, torch.float32, torch.device("cpu"), True): 1 for shape in (forward, of_x, of_weight)
    }
    assert products.seconds() > 0


def test_the_time_of_products_is_that_of_each_times_its_count(monkeypatch):
    products = Products()
    products.counts.update({(1, 2, 3, 4, torch.float32, torch.device("cpu")): 5})
    one = products.seconds()
    assert 0 < one < 5
    monkeypatch.setattr("fairseq_posenc.analysis.commands.products.seconds_of", lambda *product: product[3])
    assert products.seconds() == 20


# ---- command lines ---------------------------------------------------------------------------------------------------
def command_line(name, workload, system):
    runs = Runs(workload, 6, Path("/data"))
    return " ".join(map(str, COMMANDS[name].arguments(runs, system)))


@pytest.mark.parametrize("workload", [PAIRS, TEXTS])
def test_only_ours_has_flags_of_ours(workload):
    for name, tasks in cli_commands.COMMANDS.items():
        if workload.task not in tasks:
            continue
        stock, ours = (command_line(name, workload, system) for system in ("stock", "shaw"))
        assert not any(word in stock for word in ("user-dir", "sliced", "fused", "posenc", "shaw"))
        assert "--user-dir" in ours
        own = [word in ours for word in ("--criterion sliced_", "--optimizer fused_adam")]
        assert own == 2 * [name == "train"]
    assert list(cli_commands.COMMANDS) == list(COMMANDS)


def test_commands_do_what_the_workload_says():
    half = Translation(size="iwslt_de_en", device="cuda", precision="fp16", length=9, sentences=5, beam=3)
    for name in ("train", "generate"):
        assert "--fp16" in command_line(name, half, "stock") and "--cpu" not in command_line(name, half, "stock")
    assert "--max-tokens 45 --max-update 6" in command_line("train", half, "t5")
    assert "--beam 3 --max-len-a 0 --max-len-b 9 --min-len 9" in command_line("generate", half, "t5")
    parsed = options.parse_args_and_arch(
        options.get_training_parser(), command_line("train", TEXTS, "stock").split(), suppress_defaults=True
    )
    assert parsed.tokens_per_sample == 16 and parsed.cpu and parsed.criterion == "cross_entropy"
    runs = Runs(TEXTS, 6, Path("/data"))
    shown = runs.shown("eval-lm", COMMANDS["eval-lm"].arguments(runs, "t5"))
    start = "fairseq-eval-lm FOLDER --user-dir fairseq_posenc --path FOLDER/checkpoints/t5/checkpoint_last.pt "
    assert shown.startswith(start)


# ---- turns -----------------------------------------------------------------------------------------------------------
def measured(rate, seconds=2.0):
    return {"rate": rate, "process_seconds": seconds, "cpu_seconds": 1.0, "peak_bytes": 2**20, "loss": 5.0}


PROFILE = {"units": 30, "product_seconds": 0.5, "batches": 2, "seconds": 1.0, "parts": {"rest": 1.0}, "flops": 10}


def test_ratios_are_of_the_same_round():
    found = {
        "stock": [measured(10), measured(20, 4.0), measured(40)],
        "t5": [measured(15), measured(10, 2.0), measured(80, 3.0)],
    }
    result = summary(found, {"stock": PROFILE, "t5": PROFILE})
    assert result["t5"]["ratios"] == [1.5, 0.5, 2.0] and result["t5"]["ratio_to_stock"] == 1.5
    assert result["t5"]["ratio_quartiles"] == [1.0, 1.75] and result["t5"]["process_ratio_to_stock"] == 1.0
    assert result["t5"]["rate"] == 15 and result["stock"]["rates"] == [10, 20, 40]
    assert result["stock"]["ratios"] == [1, 1, 1] and result["stock"]["bound"] == 60


def test_systems_take_turns_and_an_interruption_keeps_the_finished_rounds(tmp_path, monkeypatch):
    called, saved = [], []

    def run(tool, arguments, device, profile=False):
        name = arguments[arguments.index("--arch") + 1].removeprefix("transformer_").removesuffix("_iwslt_de_en")
        called.append((name, profile))
        if len(called) == 12:
            raise KeyboardInterrupt
        log = "".join(f'train_inner | {{"wps": "{10 + update}", "loss": "6.5"}}\n' for update in range(4))
        report = PROFILE if profile else {"peak_bytes": 2**20, "cpu_seconds": 1.0}
        return Finished(log, 2.0, report)

    monkeypatch.setattr(comparison, "run", run)
    runs = small_runs(PAIRS, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        compare(runs, ["train"], ["t5", "rope"], 3, lambda results: saved.append(json.loads(json.dumps(results))))
    names = [name for name, _ in called]
    assert names == [*("iwslt_de_en", "t5", "rope"), *("iwslt_de_en", "t5", "rope"), *("t5", "rope", "iwslt_de_en")] + [
        *("rope", "iwslt_de_en", "t5")
    ]
    assert [profile for _, profile in called] == [True] * 3 + [False] * 9
    assert [results["train"]["rounds"] for results in saved] == [1, 2]
    stock = saved[-1]["train"]["systems"]["stock"]
    # The first two updates do not count.
    assert stock["rates"] == [12.5, 12.5] and stock["loss"] == 6.5 and "--arch transformer_iwslt" in stock["command"]


def test_a_command_that_fails_is_one_line_and_leaves_nothing(tmp_path):
    runs, saved = small_runs(PAIRS, tmp_path), []
    runs = Runs(runs.workload, runs.batches, runs.folder, ("--no-such-flag",))
    with pytest.raises(CommandFailed) as caught:
        compare(runs, ["train"], [], 1, saved.append)
    assert "stock: fairseq-train failed: " in str(caught.value) and "--no-such-flag" in str(caught.value)
    assert "\n" not in str(caught.value) and not saved


# ---- the command -----------------------------------------------------------------------------------------------------
FEW = ["--vocabulary", "30", "--batches", "3", "--rounds", "1"]


def bench(out, *words):
    assert main(["bench", *words, *FEW, "--json", str(out)]) == 0
    result = json.loads(out.read_text())
    assert result["kind"] == "command-cost" and result["versions"]["fairseq"] and result["workload"]["batches"] == 3
    assert command_cost.rows(result)
    return result["commands"]


def test_whole_trainings(tmp_path, capsys):
    words = ["--task", "language_modeling", "--size", "tiny", "--length", "16", "--encodings", "t5"]
    found = bench(tmp_path / "out.json", "--commands", "train", *words)["train"]
    assert found["unit"] == "words" and found["rounds"] == 1 and list(found["systems"]) == ["stock", "t5"]
    for measured in found["systems"].values():
        assert measured["rate"] > 0 and measured["bound"] > 0 and measured["peak_bytes"] > 2**26
        assert measured["cpu_seconds"] > 0 and measured["process_seconds"] > 0
        # Untrained models know nothing of 34 symbols.
        assert 4 < measured["loss"] < 7 and measured["profile"]["batches"] == 1
    out = capsys.readouterr().out
    assert "words/s" in out and "t5" in out and "feed_forward" in out


@pytest.mark.slow
def test_whole_generation_and_evaluation(tmp_path):
    words = ["--commands", "generate", "--size", "iwslt_de_en", "--length", "5", "--beam", "2", "--encodings", "rope"]
    found = bench(tmp_path / "out.json", *words)["generate"]
    assert found["unit"] == "sentences" and all(system["rate"] > 0 for system in found["systems"].values())
    words = ["--task", "language_modeling", "--size", "tiny", "--length", "16", "--encodings", "xpos"]
    found = bench(tmp_path / "out.json", "--commands", "eval-lm", *words)["eval-lm"]
    assert found["unit"] == "tokens" and all(4 < system["loss"] < 7 for system in found["systems"].values())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--commands", "generat"], "unknown command 'generat' (did you mean generate?); known commands: train, "),
        (["--commands", "eval-lm"], "eval-lm is for --task language_modeling, but --task is translation"),
        (["--commands", "generate", "--task", "language_modeling"], "its commands are train, train-stock-flags, eval"),
        (["--commands", "train", "--beam", "2"], "--beam 2 is for --commands generate, but --commands is train"),
        (["--commands", "--batches", "2"], "--batches must be at least 3, but is 2"),
        (["--commands", "--rounds", "0"], "--rounds must be at least 1"),
        (["--commands", "--measure", "memory"], "--measure is not for measurements with --commands"),
        (["--commands", "--layers", "2"], "--layers is not for measurements with --commands"),
        (["--commands", "--patterns"], "--commands and --patterns are two kinds of measurement"),
        (["--batches", "5"], "--batches is for measurements with --commands; give both, or leave --batches out"),
        (["--commands", "--precision", "bf16"], "fairseq-generate has only --fp16"),
        (["--commands", "--size", "huge"], "--size must be one of iwslt_de_en"),
        (["--commands", "--encodings", "ropee"], "did you mean rope"),
        (["--commands", "--encodings", "posnet-embed", "--length", "600"], "give at most 511"),
        (["--commands", "--json", "/no/such/folder/x.json"], "does not exist"),
    ],
)
def test_bad_input_is_one_line(words, told, capsys):
    assert main(["bench", *words]) == 2
    line = capsys.readouterr().err.strip()
    assert told in line and "\n" not in line
