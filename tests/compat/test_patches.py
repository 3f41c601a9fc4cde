"""One check per patch: it passes, and without the patch it fails with the fault that the patch names."""

import json

import pytest

import fairseq_compat
from tests.support.commands import BIN, LANGUAGE_MODEL, ROOT, TRANSLATION, fresh_fairseq, python, run, succeeded

LOAD = "import sys; from fairseq.checkpoint_utils import load_checkpoint_to_cpu; load_checkpoint_to_cpu(sys.argv[1])"


def import_fairseq(**variables):
    return python("import fairseq", **variables)


def import_old_hydra(**variables):
    return python("import hydra.conf", **variables)


def load_checkpoint(stock_checkpoint, **variables):
    return python(LOAD, stock_checkpoint, **variables)


def send_between_processes(**variables):
    """What rank 0 does to every other rank when training resumes, with an object that no file may hold."""
    code = (
        "import torch.distributed as dist, torch, sys\n"
        "from fractions import Fraction\n"
        "from fairseq.distributed.utils import broadcast_object, get_global_group\n"
        "dist.init_process_group('gloo')\n"
        "sent = {'share': Fraction(1, 3)} if dist.get_rank() == 0 else None\n"
        "got = broadcast_object(sent, src_rank=0, group=dist.group.WORLD, dist_device=torch.device('cpu'))\n"
        "assert got == {'share': Fraction(1, 3)}\n"
        "dist.destroy_process_group()"
    )
    return torchrun("--no-python", BIN / "python", "-c", code, **variables)


def torchrun(*command, **variables):
    return run(BIN / "torchrun", "--nproc_per_node", "2", "--standalone", *command, **variables)


def load_half_a_checkpoint(stock_checkpoint, tmp_path, **variables):
    whole = stock_checkpoint.read_bytes()
    (tmp_path / "half.pt").write_bytes(whole[: len(whole) // 2])
    result = python(LOAD, tmp_path / "half.pt", **variables)
    # It cannot be loaded either way; the patch is about what the user reads.
    result.returncode = int("half.pt is not a complete checkpoint" not in result.stderr)
    return result


def user_dir_of_an_imported_package(tmp_path, **variables):
    make_plugin(tmp_path)
    code = (
        "import argparse, probe_plugin\n"
        "from fairseq import utils\n"
        "from fairseq.models import ARCH_MODEL_REGISTRY\n"
        "utils.import_user_module(argparse.Namespace(user_dir='probe_plugin'))\n"
        "assert 'probe_architecture' in ARCH_MODEL_REGISTRY, 'models not registered'"
    )
    return python(code, cwd="/", PYTHONPATH=str(tmp_path), **variables)


def make_plugin(directory):
    models = directory / "probe_plugin" / "models"
    models.mkdir(parents=True)
    (directory / "probe_plugin" / "__init__.py").write_text("")
    (models / "__init__.py").write_text("")
    (models / "probe.py").write_text(
        "from fairseq.models import register_model_architecture\n"
        "@register_model_architecture('transformer_lm', 'probe_architecture')\n"
        "def probe_architecture(args): pass\n"
    )


def score_with_sacrebleu(stock_text, **variables):
    return fresh_fairseq(
        "score", "--sacrebleu", "-s", stock_text / "test.tgt", "-r", stock_text / "test.tgt", **variables
    )


def log_to_a_file(tmp_path, **variables):
    code = (
        "import logging, sys\n"
        "from fairseq.logging.progress_bar import logger, progress_bar\n"
        "logger.setLevel(logging.INFO)\n"
        "for epoch in 1, 2, 3:\n"
        "    progress_bar([], 'json', log_file=sys.argv[1], epoch=epoch).print({'loss': 0.5}, 'train')\n"
        "lines = open(sys.argv[1]).readlines()\n"
        "assert len(lines) == 3, f'{len(lines)} lines for three epochs'"
    )
    return python(code, tmp_path / "train.log", **variables)


def train_without_data(tmp_path, **variables):
    result = fresh_fairseq("train", tmp_path / "nowhere", *TRANSLATION, **variables)
    result.returncode = int("Traceback" in result.stderr)
    return result


def read_the_warnings(stock_data, tmp_path, **variables):
    result = fresh_fairseq("train", stock_data, *TRANSLATION, "--no-save", "--max-update", "1", **variables)
    result.returncode = int("Warning" in result.stderr)
    return result


def train_bf16(stock_data, **variables):
    options = (*TRANSLATION, "--bf16", "--cpu", "--no-save", "--max-update", "1")
    return fresh_fairseq("train", stock_data, *options, **variables)


def save_in_half_precision(stock_data, tmp_path, **variables):
    """A checkpoint has one tensor for the embeddings that the decoder's input and output share."""
    options = ("--share-decoder-input-output-embed", "--bf16", "--cpu", "--save-dir", tmp_path, "--max-update", "1")
    succeeded(fresh_fairseq("train", stock_data, *TRANSLATION, *options, **variables))
    code = (
        "import sys; from fairseq.checkpoint_utils import load_checkpoint_to_cpu\n"
        "model = load_checkpoint_to_cpu(sys.argv[1])['model']\n"
        "shared = [model[f'decoder.{name}.weight'] for name in ('embed_tokens', 'output_projection')]\n"
        "assert shared[0].equal(shared[1])\n"
        "assert shared[0].data_ptr() == shared[1].data_ptr(), 'the file holds shared embeddings twice'"
    )
    return python(code, tmp_path / "checkpoint_last.pt", **variables)


def train_in_two_precisions(stock_data, **variables):
    options = (*TRANSLATION, "--amp", "--bf16", "--cpu", "--no-save", "--max-update", "1")
    result = fresh_fairseq("train", stock_data, *options, **variables)
    result.returncode = int("--bf16 and --amp are different precisions" not in result.stderr)
    return result


def copy_parameters_to_fp32(**variables):
    """The first thing that --fp16 and --bf16 do."""
    code = (
        "import torch\n"
        "from fairseq.optim.fp16_optimizer import FP16Optimizer\n"
        "parameter = torch.nn.Parameter(torch.ones(3).half())\n"
        "(copy,) = FP16Optimizer.build_fp32_params(None, [parameter]).values()\n"
        "assert copy.dtype == torch.float32 and copy.sum() == 3"
    )
    return python(code, **variables)


def copy_parameters_of_the_cpu_beside_a_gpu(**variables):
    """With --cpu on a machine that has a GPU: the copy must be where the gradients of CPU tensors are looked up."""
    code = (
        "import torch\n"
        "torch.cuda.is_available, torch.cuda.current_device = lambda: True, lambda: 0\n"
        "from fairseq.optim.fp16_optimizer import FP16Optimizer\n"
        "parameter = torch.nn.Parameter(torch.ones(3).half())\n"
        "copies = FP16Optimizer.build_fp32_params(None, [parameter])\n"
        "assert list(copies) == [parameter.device.index], copies"
    )
    return python(code, **variables)


def step_with_a_loss_scale(**variables):
    """SGD with rate 1 and gradient 3 takes 1 to -2, clipped to 1 takes 1 to 0. The scaler is that of CUDA, on a CPU."""
    code = (
        "import torch\n"
        "from omegaconf import OmegaConf\n"
        "from fairseq.optim.amp_optimizer import AMPOptimizer\n"
        "sgd = {'_name': 'sgd', 'momentum': 0.0, 'weight_decay': 0.0, 'lr': [1.0]}\n"
        "common = {'fp16_init_scale': 1024, 'fp16_scale_window': None, 'min_loss_scale': 1e-4}\n"
        "cfg = OmegaConf.create({'optimizer': sgd, 'optimization': {'lr': [1.0]}, 'common': common})\n"
        "for most, expected in (0.0, -2.0), (1.0, 0.0):\n"
        "    parameter = torch.nn.Parameter(torch.ones(1))\n"
        "    optimizer = AMPOptimizer.build_optimizer(cfg, [parameter])\n"
        "    optimizer._grad_scaler = torch.amp.GradScaler('cpu', init_scale=1024.0)\n"
        "    optimizer.backward(3 * parameter.sum())\n"
        "    optimizer.clip_grad_norm(most)\n"
        "    optimizer.step()\n"
        "    assert abs(parameter.item() - expected) < 1e-4, f'{parameter.item()} in place of {expected}'"
    )
    return python(code, **variables)


def overflow_while_training(stock_data, **variables):
    """The scale of the loss is beyond fp16, so that the first gradients overflow and their updates are skipped."""
    options = (*TRANSLATION, "--fp16", "--cpu", "--no-save", "--fp16-init-scale", str(2**40), "--max-update", "1")
    return fresh_fairseq("train", stock_data, *options, **variables)


#: Ends as training does: fairseq destroys the process group, whose threads would abort Python at its end now and then.
DISTRIBUTED_RUN = """
import sys, torch
from pathlib import Path
from fairseq.dataclass.configs import FairseqConfig
from fairseq.distributed.utils import distributed_main, get_global_group

def run(train):
    config = FairseqConfig()
    config.common.cpu, config.common.tpu = True, False
    training = config.distributed_training
    training.distributed_init_method = f'file://{sys.argv[1]}/store'
    training.distributed_world_size, training.distributed_rank, training.distributed_backend = 1, 0, 'gloo'
    distributed_main(0, train, config, {})
"""


def wrap_for_default_ddp(tmp_path, **variables):
    code = (
        "from fairseq.dataclass.configs import DistributedTrainingConfig\n"
        "from fairseq.models import DistributedFairseqModel\n"
        "def train(config):\n"
        "    config, model = DistributedTrainingConfig(tpu=False), torch.nn.Linear(2, 2)\n"
        "    model = DistributedFairseqModel(config, model, get_global_group(), torch.device('cpu'))\n"
        "    model(torch.ones(1, 2)).sum().backward()\n"
        "run(train)"
    )
    return python(DISTRIBUTED_RUN + code, tmp_path, **variables)


def end_while_batches_are_made(**variables):
    """Python ends while a batch is being made: what runs at the end, the last of all, looks for the thread."""
    code = (
        "import atexit, sys, time\n"
        "batches = []\n"
        "atexit.register(lambda: batches[0]._consumer.is_alive() and print('its thread still runs', file=sys.stderr))\n"
        "from fairseq.data.iterators import BufferedIterator\n"
        "class Slow:\n"
        "    __len__ = lambda self: 100\n"
        "    def __iter__(self):\n"
        "        for number in range(100):\n"
        "            time.sleep(0.2)\n"
        "            yield number\n"
        "batches.append(BufferedIterator(10, Slow()))\n"
        "assert next(batches[0]) == 0\n"
    )
    result = python(code, **variables)
    result.returncode = result.returncode or int("its thread still runs" in result.stderr)
    return result


def end_a_distributed_run(tmp_path, **variables):
    code = (
        "from torch.nn.parallel import DistributedDataParallel\n"
        "threads = lambda: len(list(Path('/proc/self/task').iterdir()))\n"
        "def train(config):\n"
        "    global before\n"
        "    before = threads()\n"
        "    model = DistributedDataParallel(torch.nn.Linear(2, 2), process_group=get_global_group())\n"
        "    model.trainer = [model]\n"
        "    model(torch.ones(1, 2)).sum().backward()\n"
        "    assert threads() > before\n"
        "run(train)\n"
        "assert threads() <= before and not torch.distributed.is_initialized(), 'its threads still run'"
    )
    return python(DISTRIBUTED_RUN + code, tmp_path, **variables)


def generate_padded(stock_data, stock_checkpoint, **variables):
    options = ("--path", stock_checkpoint, "--beam", "1", "--max-len-b", "15", "--batch-size", "20")
    return fresh_fairseq("generate", stock_data, *options, **variables)


def build_encoder_with_a_vendor_build(**variables):
    code = (
        "import torch; torch.__version__ = '2.6.0a0+vendor'\n"
        "from fairseq.modules.transformer_layer import TransformerEncoderLayerBase as Layer\n"
        "from fairseq.models.transformer import TransformerConfig\n"
        "Layer(TransformerConfig())"
    )
    return python(code, **variables)


def blocks_of_sentences(**variables):
    """What a language model does with --sample-break-mode eos."""
    code = (
        "import torch\n"
        "from fairseq.data import TokenBlockDataset\n"
        "sentences = [torch.tensor([4, 5, 2]), torch.tensor([6, 2])]\n"
        "blocks = TokenBlockDataset(sentences, [3, 2], block_size=None, pad=1, eos=2, break_mode='eos')\n"
        "assert [block.tolist() for block in blocks] == [[4, 5, 2], [6, 2]]"
    )
    return python(code, **variables)


def evaluate_what_is_too_long(stock_lm_data, stock_lm_run, **variables):
    """The model has 32 positions, and all 20 sentences fit into one sample of 140 tokens."""
    path = stock_lm_run / "checkpoint_last.pt"
    result = fresh_fairseq("eval-lm", stock_lm_data, "--path", path, "--gen-subset", "test", **variables)
    told = "error: 1 of 1 samples (140 of 140 tokens) are longer than the model's 32 positions" in result.stderr
    result.returncode = int(not told)
    return result


def sentences_to_translate(tmp_path, **variables):
    """Two sentences; other control characters are white space within them."""
    (tmp_path / "input").write_bytes("w1\rw2\x0bw3\x85w4\u2028w5\nw6\r\n".encode())
    code = (
        "import sys; from fairseq_cli.interactive import buffered_read\n"
        "lines = [line.split() for batch in buffered_read(sys.argv[1], 1) for line in batch]\n"
        "assert lines == [['w1', 'w2', 'w3', 'w4', 'w5'], ['w6']], f'{len(lines)} sentences'"
    )
    return python(code, tmp_path / "input", **variables)


def load_settings_that_are_code(stock_run, tmp_path, **variables):
    """Without the patch, the first command ends the process with status 9."""
    code = (
        "import sys, torch\n"
        "from fairseq import checkpoint_utils\n"
        "state = torch.load(sys.argv[1])\n"
        "state['cfg']['model'].adaptive_softmax_cutoff = '__import__(\"os\")._exit(print(\"RUN\", flush=True) or 9)'\n"
        "torch.save(state, sys.argv[2])\n"
        "try: checkpoint_utils.load_model_ensemble([sys.argv[2]])\n"
        "except Exception as error: assert 'is code, which is never run' in str(error), error"
    )
    return python(code, stock_run / "checkpoint_last.pt", tmp_path / "code.pt", **variables)


def override_with_no_dictionary(stock_data, stock_checkpoint, **variables):
    result = fresh_fairseq("generate", stock_data, "--path", stock_checkpoint, "--model-overrides", "{'a'", **variables)
    result.returncode = int("is not a dictionary of settings" not in result.stderr)
    return result


def load_settings_of_another_type(stock_checkpoint, **variables):
    code = (
        "import sys\n"
        "from fairseq import checkpoint_utils\n"
        "try: checkpoint_utils.load_model_ensemble([sys.argv[1]], {'encoder_attention_heads': 'x'})\n"
        "except ValueError as error: assert 'do not match' in str(error), error"
    )
    return python(code, stock_checkpoint, **variables)


def samples_of_no_tokens(stock_lm_data, **variables):
    result = fresh_fairseq(
        "train", stock_lm_data, *LANGUAGE_MODEL, "--tokens-per-sample", "0", "--no-save", **variables
    )
    result.returncode = int("--tokens-per-sample must be at least 1" not in result.stderr)
    return result


def length_buckets(**variables):
    """What --num-batch-buckets 2 does with the lengths 1 to 9."""
    code = "from fairseq.data.data_utils import get_buckets; assert get_buckets(range(1, 10), 2).tolist() == [5, 9]"
    return python(code, **variables)


def validate_with_another_architecture(stock_data, stock_checkpoint, **variables):
    """Architectures of one model, the same but for the sizes, which the checkpoint names."""
    overrides = repr({"arch": "transformer_wmt_en_de", "_name": "transformer_wmt_en_de"})
    options = (
        *("--path", stock_checkpoint, "--valid-subset", "test", "--batch-size", "20", "--model-overrides", overrides),
    )
    return fresh_fairseq("validate", stock_data, *options, "--task", "translation", **variables)


def read_huffman_codes(tmp_path, **variables):
    """A data set of three sentences, written and read again."""
    code = (
        "import sys\n"
        "from fairseq.data.huffman import HuffmanCodeBuilder, HuffmanMMapIndexedDataset\n"
        "from fairseq.data.huffman import HuffmanMMapIndexedDatasetBuilder\n"
        "sentences = [list('abracadabra'), list('a'), list('cab')]\n"
        "counts = HuffmanCodeBuilder()\n"
        "counts.add_symbols(*(word for sentence in sentences for word in sentence))\n"
        "coder = counts.build_code()\n"
        "with HuffmanMMapIndexedDatasetBuilder(sys.argv[1] + '/data', coder) as builder:\n"
        "    for sentence in sentences: builder.add_item(sentence)\n"
        "data = HuffmanMMapIndexedDataset(sys.argv[1] + '/data')\n"
        "words = {node.id: node.symbol for node in data.coder}\n"
        "assert [[words[int(one)] for one in data[i]] for i in range(3)] == sentences"
    )
    return python(code, tmp_path, **variables)


def attend_with_byte_masks(**variables):
    """fairseq's documentation asks for such masks, and its tests convert them for xFormers."""
    code = (
        "import torch\n"
        "from fairseq.modules.multihead_attention import MultiheadAttention, _mask_for_xformers\n"
        "layer, x = MultiheadAttention(8, 2, self_attention=True), torch.randn(3, 2, 8)\n"
        "padding, future = torch.tensor([[0, 0, 1], [0, 0, 0]]).bool(), torch.ones(3, 3).triu(1).bool()\n"
        "expected = layer(x, x, x, key_padding_mask=padding, attn_mask=future)[0]\n"
        "found = layer(x, x, x, key_padding_mask=padding.byte(), attn_mask=future.byte())[0]\n"
        "assert torch.equal(found, expected)\n"
        "infinite = torch.zeros(3, 3).masked_fill(future, -float('inf'))\n"
        "assert torch.equal(_mask_for_xformers(future.byte(), torch.float), infinite)\n"
        "assert _mask_for_xformers(future.byte()).dtype == torch.uint8\n"
        "torch.jit.script(layer)"
    )
    return python(code, **variables)


def train_with_scalar_noise(stock_data, tmp_path, **variables):
    options = (*TRANSLATION, "--quant-noise-scalar", "0.5", "--max-update", "2", "--save-dir", tmp_path)
    return fresh_fairseq("train", stock_data, *options, **variables)


def train_in_two_processes_of_a_cpu(stock_data, tmp_path, **variables):
    options = (*TRANSLATION, "--max-update", "1", "--save-dir", tmp_path, "--ddp-backend", "legacy_ddp")
    processes = ("--cpu", "--distributed-world-size", "2", "--distributed-backend", "gloo")
    return fresh_fairseq("train", stock_data, *options, *processes, **variables)


def train_a_model_of_a_plugin_with_hydra(stock_data, tmp_path, **variables):
    model = ("model=transformer_posenc", f"common.user_dir={ROOT}/fairseq_posenc", "model.encoder_embed_dim=16")
    sides = [f"model.{side}_{size}" for side in ("encoder", "decoder") for size in ("layers=1", "attention_heads=2")]
    training = ("optimizer=adam", "optimization.lr=[0.003]", "optimization.max_update=1", "dataset.max_tokens=400")
    task = ("task=translation", f"task.data={stock_data}", f"checkpoint.save_dir={tmp_path}")
    return fresh_fairseq("hydra-train", *model, *sides, *task, *training, cwd=tmp_path, **variables)


# What a PyTorch without a GPU says, built without and with CUDA.
NO_GPU = ("CUDA", "NVIDIA driver")


# patch -> (check, what the user reads without the patch, or one of several things)
def find_nan_gradients(**variables):
    code = (
        "import logging, math, torch\n"
        "from fairseq.nan_detector import NanDetector\n"
        "class Encoder(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = torch.nn.Linear(2, 2)\n"
        "    def forward(self, x):\n"
        "        return {'encoder_out': [self.layer(x)]}\n"
        "logging.basicConfig()\n"
        "model = Encoder()\n"
        "with NanDetector(model):\n"
        "    (model(torch.ones(1, 2))['encoder_out'][0] * math.nan).sum().backward()\n"
    )
    result = python(code, **variables)
    if not result.returncode:
        assert "NaN detected in output of layer, shape: torch.Size([1, 2]), backward" in result.stderr
    return result


CHECKS = {
    "hashable_config_defaults": (import_fairseq, "mutable default"),
    "hashable_hydra_defaults": (import_old_hydra, "mutable default"),
    "checkpoint_types": (load_checkpoint, "argparse.Namespace"),
    "broadcast_objects": (send_between_processes, "Weights only load failed"),
    "checkpoint_file_errors": (load_half_a_checkpoint, "PytorchStreamReader"),
    "tied_parameters_once": (save_in_half_precision, "shared embeddings twice"),
    "user_dir_by_name": (user_dir_of_an_imported_package, "probe_plugin"),
    "score_sacrebleu_lists": (score_with_sacrebleu, "sequence of strings"),
    "log_file_once": (log_to_a_file, "6 lines for three epochs"),
    "one_line_errors": (train_without_data, "No such file or directory"),
    "quiet_warnings": (read_the_warnings, "hydra"),
    "bf16_without_tpu": (train_bf16, "xm"),
    "nan_detector": (find_nan_gradients, "StopIteration"),
    "one_precision": (train_in_two_precisions, "done training"),
    "half_precision_without_cuda": (copy_parameters_to_fp32, NO_GPU),
    "overflow_without_cuda": (overflow_while_training, NO_GPU),
    "scalar_noise_without_cuda": (train_with_scalar_noise, NO_GPU),
    "amp_unscales_once": (step_with_a_loss_scale, "in place of -2.0"),
    "ddp_on_cpu": (wrap_for_default_ddp, "device_ids"),
    "spawn_on_cpu": (train_in_two_processes_of_a_cpu, "world size is 2 but have 0 available devices"),
    "data_thread_at_exit": (end_while_batches_are_made, "its thread still runs"),
    "process_group_at_exit": (end_a_distributed_run, "its threads still run"),
    "no_encoder_fast_path": (generate_padded, "Mask Type should be defined"),
    "plain_torch_version": (build_encoder_with_a_vendor_build, "invalid literal for int()"),
    "byte_masks": (attend_with_byte_masks, "only bool"),
    "bitarray_rindex": (read_huffman_codes, "has no attribute 'rindex'"),
    "numpy_removed_names": (blocks_of_sentences, "has no attribute 'compat'"),
    "numpy_percentile": (length_buckets, "interpolation"),
    "architecture_override": (validate_with_another_architecture, "Could not infer task type"),
    "eval_lm_skipped_samples": (evaluate_what_is_too_long, "Perplexity: 1.00"),
    "interactive_reads_utf8": (sentences_to_translate, "3 sentences"),
    "hydra_user_dir": (train_a_model_of_a_plugin_with_hydra, "transformer_posenc"),
    "settings_are_no_code": (load_settings_that_are_code, "RUN"),
    "model_overrides": (override_with_no_dictionary, "SyntaxError"),
    "checkpoint_settings": (load_settings_of_another_type, "unsupported operand"),
    "tokens_per_sample": (samples_of_no_tokens, "ZeroDivisionError"),
}


def test_interactive_reads_text_in_place_of_standard_input():
    """As fairseq's own tests put it there."""
    code = (
        "import io, sys; from fairseq_cli.interactive import buffered_read\n"
        "sys.stdin = io.StringIO('w1 w2\\nw3\\n')\n"
        "assert list(buffered_read('-', 1)) == [['w1 w2'], ['w3']]"
    )
    succeeded(python(code))


def test_cpu_beside_a_gpu():
    succeeded(copy_parameters_of_the_cpu_beside_a_gpu())
    failed = copy_parameters_of_the_cpu_beside_a_gpu(FAIRSEQ_COMPAT_SKIP="half_precision_without_cuda")
    assert "AssertionError: {0: Parameter" in failed.stderr


@pytest.fixture(scope="session")
def needed():
    """Tell which patches are needed by these versions: what a fresh process reports once all commands are imported."""
    code = (
        "import importlib, json, fairseq_compat\n"
        "for name in 'train generate interactive eval_lm validate preprocess score hydra_train'.split():\n"
        "    importlib.import_module(f'fairseq_cli.{name}')\n"
        "print(json.dumps({patch['name']: patch['state'] for patch in fairseq_compat.report()}))"
    )
    states = json.loads(succeeded(python(code)).stdout.splitlines()[-1])
    states["plain_torch_version"] = "in force"  # its check pretends to a version that needs it
    return states


def test_every_patch_has_a_check():
    assert set(CHECKS) == {patch["name"] for patch in fairseq_compat.report()}


def run_check(check, request, **variables):
    """Run a check with the fixtures that it names."""
    wanted = check.__code__.co_varnames[: check.__code__.co_argcount]
    return check(**{fixture: request.getfixturevalue(fixture) for fixture in wanted}, **variables)


@pytest.mark.parametrize("name", CHECKS)
def test_with_the_patch(name, request):
    succeeded(run_check(CHECKS[name][0], request))


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_without_the_patch(name, needed, request):
    """The fault is there, if these versions need the patch."""
    check, fault = CHECKS[name]
    if needed[name] != "in force":
        assert needed[name] == "not needed"
        return
    failed = run_check(check, request, FAIRSEQ_COMPAT_SKIP=name)
    assert failed.returncode != 0, f"{name} seems not to be needed:\n{failed.stdout[-1000:]}{failed.stderr[-1000:]}"
    faults = (fault,) if isinstance(fault, str) else fault
    said = failed.stdout + failed.stderr
    assert any(fault in said for fault in faults), said
