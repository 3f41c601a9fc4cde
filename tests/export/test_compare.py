"""The comparison of exported models with fairseq's commands."""

import json

import pytest

from fairseq_posenc.errors import InputError
from tests.support.export import write_model

PROGRAMS = ["fairseq", "ctranslate2", "ctranslate2-int8", "huggingface"]
EXACT = ("fairseq", "ctranslate2", "huggingface")


def compare(data, systems, folder):
    """What is measured of each system: {program: numbers}."""
    pytest.importorskip("ctranslate2")
    pytest.importorskip("transformers")
    from examples.export.compare import main

    words = [f"{name}={checkpoint}" for name, checkpoint in systems.items()]
    main([str(data), *words, "--sentences", "15", "--rounds", "1", "--json", str(folder / "speed.json")])
    return {system["name"]: system["programs"] for system in json.loads((folder / "speed.json").read_text())["systems"]}


def test_all_programs_translate_alike(reversal_data, tmp_path, capsys):
    systems = {
        name: write_model(tmp_path / f"{name}.pt", reversal_data, name, updates=150) for name in ("sinusoidal", "rope")
    }
    found = compare(reversal_data, systems, tmp_path)
    assert list(found["sinusoidal"]) == PROGRAMS and list(found["rope"]) == PROGRAMS[:-1]
    printed = capsys.readouterr()
    assert "left out: " in printed.err and "transformers has no translation model with rope" in printed.err
    # int8 is made before: the model in memory must stay what it was.
    for programs in found.values():
        assert {programs[name]["same_hypotheses"] for name in EXACT if name in programs} == {15}
    assert "15 of 15" in printed.out


def test_all_programs_continue_texts_alike(lm_data, tmp_path):
    flags = ("rope", "--sample-break-mode", "eos", "--tokens-per-sample", 256)
    checkpoint = write_model(tmp_path / "model.pt", lm_data, *flags, language_model=True)
    programs = compare(lm_data, {"rope": checkpoint}, tmp_path)["rope"]
    assert list(programs) == PROGRAMS
    assert all(programs[name]["same_hypotheses"] == 15 and programs[name]["logits_apart"] < 1e-4 for name in EXACT)
    assert programs["ctranslate2-int8"]["logits_apart"] > 1e-3


def test_a_system_without_a_name():
    from examples.export.compare import parse

    with pytest.raises(InputError, match="model.pt has no name; write NAME=CKPT"):
        parse(["data", "model.pt", "--json", "out.json"])
