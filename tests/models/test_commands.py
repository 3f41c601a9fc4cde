"""Every encoding through the stock commands, each in a process of its own."""

import math
import re

import pytest
import torch
from fairseq import checkpoint_utils
from omegaconf import OmegaConf

from fairseq_posenc.encodings import encoding_class
from fairseq_posenc.models.transformer import PositionEncodingTransformer
from tests.support.commands import BIN, PLUGIN_TRAINING, ROOT, forked, one_line, output, succeeded, with_plugin
from tests.support.encodings import one_of_each_kind
from tests.support.models import SMALL, architecture, small_flags
from tests.support.training import largest_difference, without_dropout


def train(corpus, folder, arch, *flags, **options):
    return with_plugin(
        "fairseq-train", corpus, "--arch", arch, *PLUGIN_TRAINING, "--save-dir", folder, *flags, **options
    )


@pytest.fixture(scope="session", params=one_of_each_kind())
def trained(request, reversal_data, tmp_path_factory):
    """(encoding, checkpoint) after 12 updates, stopped and resumed in the middle."""
    folder = tmp_path_factory.mktemp(request.param)
    flags = small_flags(request.param)
    train(reversal_data, folder, architecture(request.param), *flags, "--max-update", 6)
    log = train(reversal_data, folder, architecture(request.param), *flags, "--max-update", 12)
    assert "Loaded checkpoint" in log and "num_updates 12" in log
    return request.param, folder / "checkpoint_last.pt"


def load(checkpoint, corpus):
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([str(checkpoint)], {"data": str(corpus)})
    return models[0], task


def test_checkpoint_records_every_option(trained, reversal_data):
    name, checkpoint = trained
    recorded = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))["cfg"]["model"]
    assert recorded["encoder_position_encoding"] == recorded["decoder_position_encoding"] == name
    for option in encoding_class(name).options().values():
        assert option.attribute in recorded


COUNTER = """
from collections import Counter
from fairseq_posenc.attention.self_attention import SelfAttention
from fairseq_posenc.models.encoder import Encoder
calls = Counter()
for counted in (SelfAttention, Encoder):
    def forward(self, *args, counted=counted, method=counted.forward, **options):
        calls[counted.__name__] += 1
        return method(self, *args, **options)
    counted.forward = forward
from fairseq_cli.generate import cli_main
cli_main()
print("calls", calls["Encoder"], calls["SelfAttention"])
"""


def test_generation_after_reload(trained, reversal_data, tmp_path):
    """Another process scores references as this one does, where the encoder runs in training mode.

    fairseq's fused encoder path would skip our attention, so its calls are counted: two layers of either side.
    """
    _, checkpoint = trained
    script = tmp_path / "counter.py"
    script.write_text(COUNTER)
    words = ("--user-dir", ROOT / "fairseq_posenc", "--path", checkpoint, "--gen-subset", "test", "--score-reference")
    out = succeeded(forked(script, reversal_data, *words, "--max-tokens", 90)).stdout
    encoder, attention = map(int, re.search(r"^calls (\d+) (\d+)$", out, re.M).groups())
    assert encoder > 0 and attention == 4 * encoder
    scores = {int(i): list(map(float, s.split())) for i, s in re.findall(r"^P-(\d+)\t(.*)$", out, re.M)}
    model, task = load(checkpoint, reversal_data)
    model.train()
    switch_off_dropout(model)
    task.load_dataset("test")
    data = task.dataset("test")
    assert len(scores) == len(data) == 20
    for i in range(len(data)):
        sample = data.collater([data[i]])
        log_probs = model.get_normalized_probs(model(**sample["net_input"]), log_probs=True)
        expected = log_probs[0].gather(1, sample["target"][0][:, None]).squeeze(1)
        expected = expected / math.log(2)  # fairseq-generate prints logarithms to base 2
        torch.testing.assert_close(torch.tensor(scores[i]), expected, atol=2e-4, rtol=0)


def switch_off_dropout(model):
    for encoding in (model.encoder.embed_positions, model.decoder.embed_positions):
        encoding.eval()


GENERATION = {
    "beam": ["--beam", 4],
    "sampling": ["--beam", 2, "--nbest", 2, "--sampling", "--sampling-topk", 5],
    "prefix": ["--beam", 3, "--prefix-size", 2],
}


#: A table, a module on embeddings, terms of their own in attention, and factors outside the cache.
KINDS = ["learned", "posnet-embed", "shaw", "xpos"]


@pytest.mark.parametrize("flags", GENERATION.values(), ids=GENERATION.keys())
@pytest.mark.parametrize("trained", KINDS, indirect=True)
def test_generation_kinds(trained, reversal_data, flags):
    out = with_plugin("fairseq-generate", reversal_data, "--path", trained[1], "--max-len-b", 12, *flags)
    hypotheses = re.findall(r"^H-(\d+)\t\S+\t(.*)$", out, re.M)
    assert len({i for i, _ in hypotheses}) == 20
    if "--prefix-size" in flags:
        references = dict(re.findall(r"^T-(\d+)\t(.*)$", out, re.M))
        for i, hypothesis in hypotheses:
            assert hypothesis.split()[:2] == references[i].split()[:2]


@pytest.mark.parametrize("trained", KINDS, indirect=True)
def test_hub_interface(trained, reversal_data):
    """Translates in Python as fairseq-interactive does on the command line."""
    hub = PositionEncodingTransformer.from_pretrained(str(trained[1].parent), trained[1].name, str(reversal_data))
    out = with_plugin("fairseq-interactive", reversal_data, "--path", trained[1], "--beam", 5, stdin="w1 w2 w3\n")
    assert hub.translate("w1 w2 w3", beam=5) == re.search(r"^H-0\t\S+\t(.*)$", out, re.M).group(1)


def test_ensemble_and_model_overrides(reversal_data, tmp_path):
    """Two encodings in one ensemble; a limit lifted at generation."""
    checkpoints = []
    for name in ("posnet-embed", "sinusoidal"):
        train(reversal_data, tmp_path / name, architecture(name), *small_flags(name), "--max-update", 3)
        checkpoints.append(tmp_path / name / "checkpoint_last.pt")
    out = with_plugin("fairseq-generate", reversal_data, "--path", f"{checkpoints[0]}:{checkpoints[1]}", "--beam", 2)
    assert len(re.findall(r"^H-", out, re.M)) == 20

    long = " ".join(["w1"] * 80) + "\n"
    words = ["fairseq-interactive", reversal_data, "--path", checkpoints[0], "--beam", 1, "--max-len-b", 5]
    assert "81 source tokens but at most 64 fit" in with_plugin(*words, stdin=long, status=2)
    overrides = ["--model-overrides", "{'posnet_beyond': 'clamp'}"]
    assert re.search(r"^H-0\t", with_plugin(*words, *overrides, stdin=long), re.M)


def test_averaged_checkpoints(reversal_data, tmp_path):
    flags = [*small_flags("posnet-embed"), "--save-interval-updates", 2, "--max-update", 6]
    train(reversal_data, tmp_path, architecture("posnet-embed"), *flags)
    average = tmp_path / "average.pt"
    output(BIN / "fairseq-posenc", "average", "--inputs", tmp_path, "--num-update-checkpoints", 2, "--output", average)
    last = [torch.load(tmp_path / f"checkpoint_1_{update}.pt", weights_only=False)["model"] for update in (4, 6)]
    for name, mean in torch.load(average, weights_only=False)["model"].items():
        torch.testing.assert_close(mean, (last[0][name] + last[1][name]) / 2, msg=name)
    out = with_plugin("fairseq-generate", reversal_data, "--path", average, "--beam", 2)
    assert len(re.findall(r"^H-", out, re.M)) == 20


@pytest.mark.parametrize(
    "backend", [None, *(pytest.param(name, marks=pytest.mark.slow) for name in ("c10d", "legacy_ddp"))]
)
def test_two_processes(reversal_data, tmp_path, backend):
    """fairseq's default --ddp-backend needs a model without unused parameters."""
    words = [] if backend is None else ["--ddp-backend", backend]
    log = output(
        *(BIN / "torchrun", "--nproc_per_node", 2, "--standalone", BIN / "fairseq-train"),
        *(
            reversal_data,
            "--user-dir",
            ROOT / "fairseq_posenc",
            "--arch",
            architecture("posnet-embed"),
            *PLUGIN_TRAINING,
        ),
        *(*small_flags("posnet-embed"), "--save-dir", tmp_path, "--max-update", 4, "--cpu", "--no-save"),
        *("--distributed-backend", "gloo", *words),
    )
    assert "num_updates 4" in log and "training on 2 devices" in log


def test_two_spawned_processes(reversal_data, tmp_path):
    """fairseq starts them itself, and each loads --user-dir (fairseq's issue 4875). They learn what one process learns
    from the same two batches an update."""
    words = [*small_flags("posnet-embed"), *without_dropout("posnet-embed"), "--max-update", 4]
    # Adam would make much of how tiny gradients are rounded.
    words += ["--optimizer", "sgd", "--lr", 0.1, "--lr-scheduler", "fixed", "--cpu", "--num-workers", 0]
    processes = ("--distributed-world-size", 2, "--distributed-backend", "gloo")
    log = train(reversal_data, tmp_path / "two", architecture("posnet-embed"), *words, *processes)
    assert "num_updates 4" in log and "training on 2 devices" in log
    model, _ = load(tmp_path / "two" / "checkpoint_last.pt", reversal_data)
    assert model.encoder.embed_positions.name == "posnet-embed"
    for name, update_freq in (("one", 2), ("half", 1)):
        train(reversal_data, tmp_path / name, architecture("posnet-embed"), *words, "--update-freq", update_freq)
    two, one, half = (torch.load(tmp_path / name / "checkpoint_last.pt") for name in ("two", "one", "half"))
    assert largest_difference(two, one) < 1e-5 < 1e-3 < largest_difference(two, half)


@pytest.mark.parametrize("precision", ["--fp16", "--bf16"])
def test_low_precision_training(reversal_data, tmp_path, precision):
    log = train(
        reversal_data,
        tmp_path,
        architecture("posnet-embed"),
        *small_flags("posnet-embed"),
        precision,
        "--max-update",
        4,
    )
    assert "num_updates 4" in log
    assert all(float(loss) < 20 for loss in re.findall(r"\| loss ([\d.]+)", log))


@pytest.fixture(scope="module")
def both(reversal_data, tmp_path_factory):
    """[(checkpoint, the other architecture)]: of stock fairseq and ours, of ours and stock fairseq's."""
    folder, words = tmp_path_factory.mktemp("both"), small_flags("sinusoidal")
    arguments = [reversal_data, *PLUGIN_TRAINING, *words, "--max-update", 6]
    output(BIN / "fairseq-train", *arguments, "--arch", "transformer_iwslt_de_en", "--save-dir", folder / "stock")
    train(reversal_data, folder / "ours", architecture("sinusoidal"), *words, "--max-update", 6)
    pairs = (("stock", architecture("sinusoidal")), ("ours", "transformer_iwslt_de_en"))
    return [(folder / name / "checkpoint_last.pt", arch) for name, arch in pairs]


@pytest.mark.parametrize("names", [("arch",), ("arch", "_name")])
def test_stock_checkpoint_generates_with_ours(reversal_data, both, names):
    """A checkpoint of stock fairseq-train, read as our architecture, and the other way round."""
    for path, arch in both:
        generate = [reversal_data, "--path", path, "--beam", 2]
        own = with_plugin("fairseq-generate", *generate)
        other = with_plugin("fairseq-generate", *generate, "--model-overrides", repr(dict.fromkeys(names, arch)))
        hypotheses = [re.findall(r"^(H-\d+)\t(\S+)\t(.*)$", out, re.M) for out in (own, other)]
        assert len(hypotheses[0]) == 20
        for (i, score, text), (j, other_score, other_text) in zip(*hypotheses):
            assert (i, text) == (j, other_text)
            assert float(score) == pytest.approx(float(other_score), abs=1e-4)


def test_stock_checkpoint_validates_with_ours(reversal_data, both):
    for path, arch in both:
        words = [reversal_data, "--path", path, "--valid-subset", "test", "--max-tokens", 400, "--task", "translation"]
        own = with_plugin("fairseq-validate", *words)
        other = with_plugin("fairseq-validate", *words, "--model-overrides", repr({"arch": arch}))
        losses = [re.search(r"\| test \|.*\| loss ([\d.]+)", out).group(1) for out in (own, other)]
        assert losses[0] == losses[1]


def test_stock_checkpoint_by_from_pretrained(reversal_data, both):
    for path, arch in both:
        where = str(path.parent), path.name, str(reversal_data)
        stock_model = PositionEncodingTransformer.from_pretrained(*where)
        ours = PositionEncodingTransformer.from_pretrained(*where, arch=arch, user_dir=str(ROOT / "fairseq_posenc"))
        assert {isinstance(hub.models[0], PositionEncodingTransformer) for hub in (stock_model, ours)} == {True, False}
        sentences = ["w1 w2 w3", "w5 w4"]
        assert stock_model.translate(sentences, beam=2) == ours.translate(sentences, beam=2)


def test_an_unknown_architecture_is_one_line(reversal_data, both):
    overrides = ["--model-overrides", repr({"arch": "transformer_sinusoidl_iwslt_de_en"})]
    out = with_plugin("fairseq-generate", reversal_data, "--path", both[0][0], *overrides, status=2)
    assert "did you mean transformer_sinusoidal_iwslt_de_en?" in one_line(out)


def test_hydra_training(reversal_data, tmp_path):
    """fairseq-hydra-train keeps the options of an encoding, and the stock commands read what it leaves."""
    model = {
        "_name": architecture("shaw"),
        "shaw_clip": 4,
        **{flag.lstrip("-").replace("-", "_"): value for flag, value in SMALL.items()},
        "share_all_embeddings": True,
    }
    config = {
        "common": {"user_dir": str(ROOT / "fairseq_posenc"), "no_progress_bar": True},
        "task": {"_name": "translation", "data": str(reversal_data)},
        "model": model,
        "criterion": {"_name": "cross_entropy"},
        "optimizer": {"_name": "adam"},
        "lr_scheduler": {"_name": "fixed"},
        "dataset": {"max_tokens": 400},
        "optimization": {"max_update": 4, "lr": [0.003]},
        "checkpoint": {"save_dir": str(tmp_path)},
    }
    OmegaConf.save(OmegaConf.create(config), tmp_path / "shaw.yaml")
    command = [BIN / "fairseq-hydra-train", "--config-dir", tmp_path, "--config-name", "shaw"]
    output(*command, f"hydra.run.dir={tmp_path}")
    log = (tmp_path / "hydra_train.log").read_text()
    assert "num_updates 4" in log
    model, _ = load(tmp_path / "checkpoint_last.pt", reversal_data)
    assert isinstance(model, PositionEncodingTransformer)
    assert model.decoder.embed_positions.keys.shape == (5, 8)
    out = with_plugin("fairseq-generate", reversal_data, "--path", tmp_path / "checkpoint_last.pt", "--beam", 2)
    assert len(re.findall(r"^H-", out, re.M)) == 20


def test_bad_input_of_training_is_one_line(reversal_data, tmp_path):
    words = [*small_flags("sinusoidal"), "--max-update", 2]
    out = train(reversal_data, tmp_path, architecture("sinusoidal"), *words, "--posnet-dim", 8, status=2)
    assert "--posnet-dim 8 is an option of posnet-embed" in one_line(out)
    out = train(tmp_path / "absent", tmp_path, architecture("sinusoidal"), *words, status=2)
    assert "absent" in one_line(out)
    assert not list(tmp_path.glob("*.pt"))


def test_bad_input_of_generation_is_one_line(reversal_data, tmp_path):
    train(reversal_data, tmp_path, architecture("none"), *small_flags("none"), "--max-update", 2)
    whole = tmp_path / "checkpoint_last.pt"
    half = tmp_path / "half.pt"
    half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    assert "half.pt" in one_line(with_plugin("fairseq-generate", reversal_data, "--path", half, status=2))

    other = tmp_path / "other"
    other.mkdir()
    for language in ("src", "tgt"):
        (other / f"test.{language}").write_text("a b c\n")
    output(
        *(BIN / "fairseq-preprocess", "-s", "src", "-t", "tgt", "--testpref", other / "test", "--joined-dictionary"),
        *("--trainpref", other / "test", "--destdir", other / "bin"),
    )
    out = one_line(with_plugin("fairseq-generate", other / "bin", "--path", whole, status=2))
    assert "vocabulary" in out and "data directory" in out
