"""scripts/fairseq_tests.sh, with tests of our own where it is given fairseq's."""

import sys

import pytest

from tests.support.commands import ROOT, output

TEST_BINARIES = """
import unittest
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.models.fconv import FConvModel

class TestTranslation(unittest.TestCase):
    def test_transformer(self):
        for name in ("transformer_iwslt_de_en", "transformer", "transformer_align", "transformer_lm"):
            assert ARCH_MODEL_REGISTRY[name].__module__.startswith("fairseq_posenc.models")

    def test_transformer_cross_self_attention(self):
        raise ValueError("transformer", "transformer")

    @unittest.skip("Disabled as currently broken")
    def test_fconv(self):
        assert ARCH_MODEL_REGISTRY["fconv"] is FConvModel

class TestLanguageModeling(unittest.TestCase):
    @unittest.skip("no GPU")
    def test_transformer_lm(self):
        "transformer_lm"
"""

TEST_EXPORT = """
import argparse
import unittest
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel

class TestExportModels(unittest.TestCase):
    def test_built(self):
        task = argparse.Namespace(source_dictionary=Dictionary(), target_dictionary=Dictionary())
        parser = argparse.ArgumentParser(argument_default=argparse.SUPPRESS)
        TransformerModel.add_args(parser)
        model = TransformerModel.build_model(parser.parse_args(["--encoder-layers", "1"]), task)
        assert type(model.encoder.embed_positions).__name__ == "RoPE"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tests = tmp_path_factory.mktemp("fairseq") / "tests"
    tests.mkdir()
    for name in ("__init__", "utils", "test_sequence_generator", "test_reproducibility", "test_inference_dropout"):
        (tests / f"{name}.py").touch()
    (tests / "test_binaries.py").write_text(TEST_BINARIES)
    (tests / "test_export.py").write_text(TEST_EXPORT)
    return tests.parent


def fairseq_tests(*words, status):
    return output(ROOT / "scripts" / "fairseq_tests.sh", *words, status=status, env={"VENV": sys.prefix})


def test_ours_stand_where_the_tests_ask_for_a_transformer(folder):
    out = fairseq_tests(folder, "rope", status=0)
    assert "rope                   2       1       1\n" in out, out
    assert "\nlisted: rope: test_binaries.py::TestTranslation::test_transformer_cross_self_attention: ValueError" in out


def test_a_failure_that_the_document_does_not_list(folder):
    out = fairseq_tests(folder, "stock", status=1)
    assert "stock                  1       3       1\n" in out, out
    assert "NOT LISTED: stock: test_binaries.py::TestTranslation::test_transformer: " in out
    assert "NOT LISTED: stock: test_binaries.py::TestTranslation::test_transformer_cross_self_attention: " in out


def test_a_folder_without_tests(tmp_path):
    out = fairseq_tests(tmp_path, status=2)
    assert out == f"fairseq_tests.sh: error: {tmp_path} has no tests/utils.py; give a folder with fairseq's tests\n"


def test_an_encoding_that_is_not_there(folder):
    out = fairseq_tests(folder, "nothing", status=2)
    assert "ERROR: --system nothing is not an encoding; fairseq-posenc list shows them all" in out
