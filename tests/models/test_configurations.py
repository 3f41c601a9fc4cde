"""fairseq-hydra-train: configurations have the flags' settings, train the same models, and their checkpoints too."""

import re
from types import SimpleNamespace

import pytest
import torch
from fairseq import checkpoint_utils, models
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.initialize import add_defaults
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_DATACLASS_REGISTRY
from omegaconf import OmegaConf

from fairseq_posenc.analysis.build import dictionary
from fairseq_posenc.encodings import encoding_class, encoding_names
from fairseq_posenc.errors import InputError
from tests.support.commands import BIN, ROOT, one_line, output, with_plugin
from tests.support.language_models import write_text
from tests.support.models import SMALL, SMALL_LM, build_model
from tests.support.recipes import LM, WMT14, commands, parse, run_script

EXAMPLES = ROOT / "examples" / "hydra"
MODELS = ("transformer_posenc", "transformer_lm_posenc")


def settings_of(flags):
    """The settings of a configuration that these flags stand for."""
    return {flag.lstrip("-").replace("-", "_"): value for flag, value in flags.items()}


def configuration(model, task="translation"):
    """A whole configuration, as fairseq-hydra-train completes it."""
    cfg = OmegaConf.structured(FairseqConfig)
    OmegaConf.set_struct(cfg, False)
    cfg.model, cfg.task = model, {"_name": task, "data": "nowhere"}
    add_defaults(cfg)
    return cfg


def built(model, task="translation"):
    torch.manual_seed(0)
    words = dictionary(20)
    cfg = configuration(model, task)
    settings = SimpleNamespace(source_dictionary=words, target_dictionary=words, args=cfg.task)
    return models.build_model(cfg.model, settings).eval(), cfg.model


@pytest.mark.parametrize("model", MODELS)
def test_every_option_is_a_field(model):
    fields = MODEL_DATACLASS_REGISTRY[model].__dataclass_fields__
    for name in encoding_names():
        for option in encoding_class(name).options().values():
            field = fields[option.attribute]
            (kind, _) = field.type.__args__
            assert field.metadata["help"].startswith(f"{name}: {option.help}") and field.default is None
            assert [choice.value for choice in kind] == list(option.choices) if option.choices else kind is option.type


#: A model with an encoding of its own on each side, an architecture that sets sizes and options, and language models.
SAME = [
    ("transformer_posenc", {**SMALL, "--position-encoding": "t5", "--decoder-position-encoding": "xpos"}),
    ("transformer_posenc", {**SMALL, "--position-encoding": "posnet-embed", "--posnet-max-positions": 9}),
    ("transformer_shaw_wmt_en_de_big", {**SMALL, "--positions": "shift:3"}),
    ("transformer_lm_posenc", {**SMALL_LM, "--position-encoding": "rope", "--attention-pattern": "window:4"}),
    ("transformer_lm_learned_tiny", {}),
]


@pytest.mark.parametrize(("name", "flags"), SAME, ids=[f"{index}-{name}" for index, (name, _) in enumerate(SAME)])
def test_a_configuration_builds_the_model_of_the_flags(name, flags):
    task = "language_modeling" if "_lm_" in name else "translation"
    words = [str(word) for pair in flags.items() for word in pair]
    expected = build_model(name, "--task", task, *words)
    model, recorded = built({"_name": name, **settings_of(flags)}, task)
    assert str(model) == str(expected)
    assert all(map(torch.equal, model.state_dict().values(), expected.state_dict().values()))
    for side in {"encoder", "decoder"} & set(dict(model.named_children())):
        encoding = getattr(model, side).embed_positions
        assert recorded[f"{side}_position_encoding"] == encoding.name
        for option in encoding_class(encoding.name).options().values():
            assert option.default is None or recorded[option.attribute] is not None


BAD = {
    "another encoding": ({"position_encoding": "alibi", "posnet_dim": 8}, InputError, "posnet_dim 8 is an option of"),
    "unknown encoding": ({"position_encoding": "ropes"}, InputError, "did you mean rope"),
    "unknown positions": ({"positions": "shift"}, InputError, "--positions shift"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_values_are_refused(kind):
    settings, error, message = BAD[kind]
    with pytest.raises(error, match=message.replace("posnet_dim", "--posnet-dim")) as caught:
        built({"_name": "transformer_posenc", **settings})
    assert "\n" not in str(caught.value)


RECIPES = {
    "posnet": (WMT14, ("posnet-embed", "en-de", "base")),
    "xpos": (LM, ("xpos", "gpt2_medium")),
    "sandwich": (LM, ("sandwich", "base")),
}


def leaves(settings, *place):
    """((section, field), value) of every value."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from leaves(value, *place, name)
        else:
            yield (*place, name), value


@pytest.mark.parametrize("name", RECIPES)
def test_the_examples_have_the_settings_of_the_recipes(name):
    recipe, system = RECIPES[name]
    example = OmegaConf.to_container(OmegaConf.load(EXAMPLES / f"{name}.yaml"))
    run = run_script(recipe / "train.sh", *system, DRY_RUN=1, SCALE="paper")
    (argv,) = [argv for argv in commands(run.stdout) if argv[0] == "fairseq-train"]
    flags = convert_namespace_to_omegaconf(parse(argv))
    assert ARCH_MODEL_REGISTRY[example["model"].pop("_name")] is ARCH_MODEL_REGISTRY[flags.model._name]
    assert example["model"].pop("attention_pattern", "full") == "full"
    for section in ("hydra", "task.data", "checkpoint.save_dir"):
        part, _, field = section.partition(".")
        assert example[part].pop(field) if field else example.pop(part)
    for place, value in leaves(example):
        assert OmegaConf.select(flags, ".".join(place)) == value, place


#: What both kinds of runs below train with: as flags, and as a configuration.
FLAGS = (
    *("--optimizer", "adam", "--lr", "0.003", "--max-tokens", "400", "--clip-norm", "1.0", "--seed", "3"),
    *("--log-interval", "1", "--log-format", "simple", "--num-workers", "0", "--no-epoch-checkpoints"),
)
COMMON = {
    "common": {"user_dir": str(ROOT / "fairseq_posenc"), "log_interval": 1, "log_format": "simple", "seed": 3},
    "criterion": {"_name": "cross_entropy"},
    "optimizer": {"_name": "adam"},
    "lr_scheduler": {"_name": "fixed"},
    "dataset": {"max_tokens": 400, "num_workers": 0},
    "checkpoint": {"no_epoch_checkpoints": True},
}
FAMILIES = {
    "translation": {**SMALL, "--position-encoding": "t5", "--dropout": 0.1},
    "language_modeling": {**SMALL_LM, "--position-encoding": "xpos", "--attention-pattern": "blockwise:8"},
}


def losses(log):
    """Of every update, of each epoch and of the validation."""
    return re.findall(r"\bloss[ =]([\d.]+)", log)


def by_flags(data, task, folder, updates):
    model = "transformer_lm_posenc" if task == "language_modeling" else "transformer_posenc"
    length = ("--tokens-per-sample", 16) if task == "language_modeling" else ()
    words = [word for pair in FAMILIES[task].items() for word in pair]
    run = ("--save-dir", folder, "--max-update", updates)
    return with_plugin("fairseq-train", data, "--task", task, "--arch", model, *words, *length, *FLAGS, *run)


def by_yaml(data, task, folder, updates, status=0, **model):
    name = "transformer_lm_posenc" if task == "language_modeling" else "transformer_posenc"
    length = {"tokens_per_sample": 16} if task == "language_modeling" else {}
    config = {
        **COMMON,
        "task": {"_name": task, "data": str(data), **length},
        "model": {"_name": name, **settings_of(FAMILIES[task]), **model},
        "optimization": {"lr": [0.003], "clip_norm": 1.0, "max_update": updates},
    }
    config["checkpoint"] = {**COMMON["checkpoint"], "save_dir": str(folder)}
    folder.mkdir(parents=True, exist_ok=True)
    OmegaConf.save(OmegaConf.create(config), folder / "small.yaml")
    words = ("--config-dir", folder, "--config-name", "small", f"hydra.run.dir={folder}")
    printed = output(BIN / "fairseq-hydra-train", *words, status=status)
    return printed if status else (folder / "hydra_train.log").read_text()


@pytest.fixture(scope="module")
def texts(reversal_data, tmp_path_factory):
    text = write_text(tmp_path_factory.mktemp("text") / "bin", 160, ("train", "valid", "test"))
    return {"translation": reversal_data, "language_modeling": text}


@pytest.mark.parametrize("task", FAMILIES)
def test_a_yaml_run_equals_a_flag_run(task, texts, tmp_path):
    """The same losses in four updates; and two more of each from the checkpoint of the other."""
    runs = {name: (run, tmp_path / name) for name, run in (("flags", by_flags), ("yaml", by_yaml))}
    first = [losses(run(texts[task], task, folder, 4)) for run, folder in runs.values()]
    assert len(first[0]) > 4 and first[0] == first[1]
    (tmp_path / "flags").rename(tmp_path / "moved")
    (tmp_path / "yaml").rename(tmp_path / "flags")
    (tmp_path / "moved").rename(tmp_path / "yaml")
    (tmp_path / "flags" / "hydra_train.log").unlink()
    resumed = [losses(run(texts[task], task, folder, 6)) for run, folder in runs.values()]
    assert len(resumed[0]) > 2 and resumed[0] == resumed[1] and resumed[0][0] not in first[0]
    for folder in ("flags", "yaml"):
        (model,), cfg, _ = checkpoint_utils.load_model_ensemble_and_task(
            [str(tmp_path / folder / "checkpoint_last.pt")], {"data": str(texts[task])}
        )
        assert model.decoder.embed_positions.name == cfg.model.decoder_position_encoding


def test_flags_generate_from_a_checkpoint_of_a_yaml_run(texts, tmp_path):
    by_yaml(texts["translation"], "translation", tmp_path, 2, position_encoding="posnet-embed", posnet_max_positions=11)
    generate = (texts["translation"], "--path", tmp_path / "checkpoint_last.pt", "--beam", 2, "--max-len-b", 10)
    plain = with_plugin("fairseq-generate", *generate)
    assert len(re.findall(r"^H-", plain, re.M)) == 20
    overrides = ("--model-overrides", "{'positions': 'shift:2', 'posnet_beyond': 'clamp'}")
    assert re.findall(r"^H-.*", with_plugin("fairseq-generate", *generate, *overrides), re.M) == re.findall(
        r"^H-.*", plain, re.M
    )


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"posnet_dimm": 8}, "has no field posnet_dimm; did you mean posnet_dim?"),
        ({"posnet_beyond": "clip"}, "posnet_beyond: Invalid value 'clip', expected one of [error, clamp]"),
    ],
)
def test_bad_fields_of_the_model_are_one_line(settings, told, tmp_path):
    out = by_yaml(tmp_path, "translation", tmp_path / "run", 2, status=2, **settings)
    assert told in one_line(out)


def test_bad_fields_of_another_section_are_one_line(tmp_path):
    (tmp_path / "bad.yaml").write_text("optimization: {max_updates: 3}")
    words = ("--config-dir", tmp_path, "--config-name", "bad", f"hydra.run.dir={tmp_path}")
    out = one_line(output(BIN / "fairseq-hydra-train", *words, status=2))
    assert "OptimizationConfig has no field max_updates; did you mean max_update?" in out
