"""The stock fairseq commands, run for real on a toy corpus."""

import re
import sys

import pytest
import sacrebleu
import torch

from tests.support.commands import BIN, LANGUAGE_MODEL, TRANSLATION, fresh_fairseq, python, run, succeeded


def hypotheses(output):
    """The translations of fairseq-generate or -interactive by sentence number."""
    return dict(re.findall(r"^H-(\d+)\t\S+\t(.*)$", output, re.MULTILINE))


def updates(checkpoint):
    """The number of updates that a checkpoint has behind it."""
    state = torch.load(checkpoint, weights_only=False, map_location="cpu")
    return state["optimizer_history"][-1]["num_updates"]


@pytest.fixture(scope="module")
def generated(stock_data, stock_checkpoint):
    """fairseq-generate's output. Batches of sentences of different lengths: padded on the left."""
    options = ("--path", stock_checkpoint, "--beam", "2", "--max-len-b", "15", "--batch-size", "20")
    return succeeded(fresh_fairseq("generate", stock_data, *options)).stdout


def test_train_saves_a_plain_checkpoint(stock_run):
    assert updates(stock_run / "checkpoint_last.pt") == 4


def test_resume_goes_on_where_training_stopped(stock_data, stock_run, tmp_path):
    (tmp_path / "checkpoint_last.pt").write_bytes((stock_run / "checkpoint_1_2.pt").read_bytes())
    result = succeeded(fresh_fairseq("train", stock_data, *TRANSLATION, "--save-dir", tmp_path))
    assert "@ 2 updates" in result.stdout + result.stderr
    resumed = torch.load(tmp_path / "checkpoint_last.pt", weights_only=False)["model"]
    straight = torch.load(stock_run / "checkpoint_last.pt", weights_only=False)["model"]
    # Loading fills the encoder's unused copies (fc1_weight, in_proj_weight, ...), which training leaves alone; and
    # _float_tensor is memory that stock fairseq never writes.
    unused = r"((fc1|fc2|in_proj|out_proj)_(weight|bias)|_float_tensor)$"
    used = [name for name in straight if not re.search(unused, name)]
    assert all(torch.equal(resumed[name], straight[name]) for name in used)


def losses(process):
    text = process.stdout + process.stderr
    return [float(value) for value in re.findall(r"train \| epoch .*?\| loss ([\d.]+)", text)]


# fp16 and bf16 really compute in half precision on the CPU. --amp does not: fairseq 0.12.2 autocasts for CUDA only
# (torch.cuda.amp), so that without a GPU it trains in fp32 and PyTorch warns that autocast and scaler are disabled.
@pytest.mark.parametrize("precision", ["fp16", "bf16", "amp"])
def test_training_precisions_without_a_gpu(precision, stock_data, tmp_path):
    options = (*TRANSLATION, "--cpu", f"--{precision}", "--fp16-init-scale", "4", "--save-dir", tmp_path)
    result = succeeded(fresh_fairseq("train", stock_data, *options))
    assert losses(result)
    assert updates(tmp_path / "checkpoint_last.pt") == 4
    # Checkpoints are written in fp32; the values tell which precision the model had.
    weight = torch.load(tmp_path / "checkpoint_last.pt", weights_only=False)["model"]["encoder.embed_tokens.weight"]
    exact = {dtype: torch.equal(weight, weight.to(dtype).float()) for dtype in (torch.float16, torch.bfloat16)}
    assert exact[torch.bfloat16] == (precision == "bf16")
    if precision != "bf16":  # most bf16 values of this size are fp16 values too
        assert exact[torch.float16] == (precision == "fp16")


def test_generate_translates_padded_batches_as_single_sentences(stock_data, stock_checkpoint, generated):
    found = hypotheses(generated)
    assert len(found) == 20
    options = ("--path", stock_checkpoint, "--beam", "2", "--max-len-b", "15", "--batch-size", "1")
    alone = hypotheses(succeeded(fresh_fairseq("generate", stock_data, *options)).stdout)
    assert found == alone


def test_generate_ensemble_sampling_and_sacrebleu(stock_data, stock_run):
    paths = f"{stock_run}/checkpoint_last.pt:{stock_run}/checkpoint_1_2.pt"
    options = ("--sampling", "--sampling-topk", "5", "--beam", "1", "--max-len-b", "15", "--scoring", "sacrebleu")
    output = succeeded(fresh_fairseq("generate", stock_data, "--path", paths, *options)).stdout
    assert len(hypotheses(output)) == 20
    assert "BLEU" in output.splitlines()[-1]


def test_interactive_agrees_with_generate(stock_text, stock_data, stock_checkpoint, generated):
    source = "".join((stock_text / "test.src").read_text().splitlines(keepends=True)[:3])
    options = ("--path", stock_checkpoint, "--beam", "2", "--max-len-b", "15", "-s", "src", "-t", "tgt")
    output = succeeded(fresh_fairseq("interactive", stock_data, *options, stdin=source)).stdout
    expected = hypotheses(generated)
    assert hypotheses(output) == {number: expected[number] for number in ("0", "1", "2")}


def test_score(stock_text):
    output = succeeded(fresh_fairseq("score", "-s", stock_text / "test.tgt", "-r", stock_text / "test.tgt")).stdout
    assert "BLEU4 = 100.00" in output


def test_score_sacrebleu_from_standard_input(stock_text):
    lines = (stock_text / "test.tgt").read_text().splitlines(keepends=True)
    swapped = "".join([lines[1], lines[0], *lines[2:]])
    output = succeeded(fresh_fairseq("score", "--sacrebleu", "-r", stock_text / "test.tgt", stdin=swapped)).stdout
    expected = sacrebleu.corpus_bleu(swapped.splitlines(), [[line.rstrip("\n") for line in lines]])
    assert 0 < expected.score < 100
    assert expected.format() in output


def test_validate(stock_data, stock_checkpoint):
    options = ("--path", stock_checkpoint, "--task", "translation", "--max-tokens", "400")
    result = succeeded(fresh_fairseq("validate", stock_data, *options))
    assert re.search(r"valid \| .*loss [\d.]+", result.stdout + result.stderr)


def test_language_model_on_sentences(stock_lm_run, stock_lm_data):
    path = stock_lm_run / "checkpoint_last.pt"
    options = ("--path", path, "--gen-subset", "test", "--batch-size", "5", "--sample-break-mode", "eos")
    result = succeeded(fresh_fairseq("eval-lm", stock_lm_data, *options))
    assert "Evaluated 140 tokens" in result.stdout + result.stderr
    perplexity = float(re.search(r"Perplexity: ([\d.]+)", result.stdout + result.stderr).group(1))
    assert 20 < perplexity < 60  # nearly untrained, 40 types


def test_a_language_model_of_fewer_positions_than_the_default_sample(stock_lm_data, tmp_path):
    """So train fairseq's own tests, and evaluate without flags: what fits is scored, as stock does, the rest told."""
    size = ("--tokens-per-sample", "500", "--max-update", "1", "--save-dir", tmp_path)
    succeeded(fresh_fairseq("train", stock_lm_data, *LANGUAGE_MODEL, *size))
    command = ("eval-lm", stock_lm_data, "--path", tmp_path / "checkpoint_last.pt", "--gen-subset", "train")
    output = succeeded(fresh_fairseq(*command)).stderr
    (line,) = [line for line in output.splitlines() if "WARNING | fairseq_cli.eval_lm" in line]
    assert "2 of 3 samples (2048 of 2311 tokens) are longer than the model's 500 positions" in line
    assert "(the longest has 1024 tokens)" in line
    assert "--tokens-per-sample 500 or less" in line and "'max_target_positions': 1024" in line
    assert "Evaluated 263 tokens" in output
    stock = succeeded(fresh_fairseq(*command, FAIRSEQ_COMPAT_SKIP="eval_lm_skipped_samples")).stderr
    perplexity = r"Loss \(base 2\): [\d.]+, Perplexity: [\d.]+"
    assert re.search(perplexity, output).group() == re.search(perplexity, stock).group()


def test_skipped_samples_that_were_asked_for_are_not_told(stock_lm_data, stock_lm_run):
    path = stock_lm_run / "checkpoint_last.pt"
    options = ("--gen-subset", "test", "--tokens-per-sample", "60", "--skip-invalid-size-inputs-valid-test")
    output = succeeded(fresh_fairseq("eval-lm", stock_lm_data, "--path", path, *options)).stderr
    assert "WARNING | fairseq_cli.eval_lm" not in output
    assert "Evaluated 20 tokens" in output


def test_python_m_and_length_buckets(stock_data):
    options = (*TRANSLATION, "--no-save", "--max-update", "1", "--num-batch-buckets", "3")
    result = succeeded(run(sys.executable, "-m", "fairseq_cli.train", stock_data, *options))
    assert "bucketing source lengths" in result.stdout + result.stderr
    assert losses(result)


def test_hydra_train(stock_lm_data, tmp_path):
    overrides = [
        *("task=language_modeling", f"task.data={stock_lm_data}", "task.tokens_per_sample=32", "model=transformer_lm"),
        *("model.decoder_layers=1", "model.decoder_embed_dim=16", "model.decoder_ffn_embed_dim=32"),
        *("model.decoder_attention_heads=2", "criterion=cross_entropy", "optimizer=adam", "lr_scheduler=fixed"),
        *("optimization.lr=[0.001]", "optimization.max_update=2", "dataset.max_tokens=400", "dataset.num_workers=0"),
        *(f"checkpoint.save_dir={tmp_path}/checkpoints", f"hydra.run.dir={tmp_path}/run"),
    ]
    succeeded(fresh_fairseq("hydra-train", *overrides, cwd=tmp_path))
    assert updates(tmp_path / "checkpoints" / "checkpoint_last.pt") == 2


def test_hub_translates_as_generate_does(stock_data, stock_run, stock_text, generated):
    code = (
        "import sys\n"
        "from fairseq.models.transformer import TransformerModel\n"
        "model = TransformerModel.from_pretrained(sys.argv[1], 'checkpoint_last.pt', sys.argv[2])\n"
        "print(model.translate(sys.argv[3], beam=2, max_len_b=15))"
    )
    source = (stock_text / "test.src").read_text().splitlines()[0]
    assert succeeded(python(code, stock_run, stock_data, source)).stdout.splitlines()[-1] == hypotheses(generated)["0"]


def test_a_checkpoint_of_averaged_parameters_translates(stock_data, stock_run, tmp_path):
    states = [torch.load(stock_run / name, weights_only=False) for name in ("checkpoint_last.pt", "checkpoint_1_2.pt")]
    first, second = (state["model"] for state in states)
    states[0]["model"] = {name: (first[name] + second[name]) / 2 for name in first}
    torch.save(states[0], tmp_path / "average.pt")
    options = ("--path", tmp_path / "average.pt", "--beam", "2", "--max-len-b", "15")
    assert len(hypotheses(succeeded(fresh_fairseq("generate", stock_data, *options)).stdout)) == 20


def torchrun(data, save_dir, *options):
    launcher = (BIN / "torchrun", "--nproc_per_node", "2", "--master_port", "0", "--standalone")
    command = (*launcher, BIN / "fairseq-train", data, *TRANSLATION, "--cpu", "--distributed-backend", "gloo")
    return run(*command, "--save-dir", save_dir, *options)


def test_two_processes_train_and_resume(stock_data, stock_run, tmp_path):
    """legacy_ddp and no_c10d are two names of one backend."""
    (tmp_path / "checkpoint_last.pt").write_bytes((stock_run / "checkpoint_1_2.pt").read_bytes())
    result = succeeded(torchrun(stock_data, tmp_path, "--ddp-backend", "legacy_ddp"))
    assert "@ 2 updates" in result.stdout + result.stderr
    assert updates(tmp_path / "checkpoint_last.pt") == 4


def test_two_processes_with_the_default_backend(stock_data, tmp_path):
    """pytorch_ddp, the default, and c10d are two names of one backend.

    Every stock encoder layer owns eight parameters that are never used (copies for the fused inference path), and this
    backend waits for their gradients, unless it is told to look for unused parameters.
    """
    succeeded(torchrun(stock_data, tmp_path, "--find-unused-parameters"))
    assert updates(tmp_path / "checkpoint_last.pt") == 4
