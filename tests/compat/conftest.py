"""One toy corpus and one trained model for all tests of the stock commands."""

import pytest
from stock_commands import LANGUAGE_MODEL, TRANSLATION, fairseq, succeeded, write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """Plain text files train / valid / test . src / tgt."""
    directory = tmp_path_factory.mktemp("corpus")
    write_corpus(directory, {"train": 300, "valid": 20, "test": 20})
    return directory


@pytest.fixture(scope="session")
def data(corpus):
    """The corpus after fairseq-preprocess, with two worker processes."""
    succeeded(
        fairseq(
            "preprocess",
            *("-s", "src", "-t", "tgt", "--trainpref", "train", "--validpref", "valid", "--testpref", "test"),
            *("--destdir", "data", "--workers", "2"),
            cwd=corpus,
        )
    )
    return corpus / "data"


@pytest.fixture(scope="session")
def model(data, tmp_path_factory):
    """A directory of checkpoints of a stock Transformer, trained for four updates with a save after two."""
    directory = tmp_path_factory.mktemp("model")
    succeeded(fairseq("train", data, *TRANSLATION, "--save-dir", directory, "--save-interval-updates", "2"))
    return directory


@pytest.fixture(scope="session")
def checkpoint(model):
    """The last checkpoint of ``model``."""
    return model / "checkpoint_last.pt"


@pytest.fixture(scope="session")
def lm_data(corpus):
    """The source side alone, for language models."""
    succeeded(
        fairseq(
            "preprocess",
            *("--only-source", "--trainpref", "train.src", "--validpref", "valid.src", "--testpref", "test.src"),
            *("--destdir", "lm-data", "--workers", "1"),
            cwd=corpus,
        )
    )
    return corpus / "lm-data"


@pytest.fixture(scope="session")
def language_model(lm_data, tmp_path_factory):
    """A directory with the checkpoints of a stock language model trained on single sentences."""
    directory = tmp_path_factory.mktemp("language-model")
    succeeded(fairseq("train", lm_data, *LANGUAGE_MODEL, "--sample-break-mode", "eos", "--save-dir", directory))
    return directory
