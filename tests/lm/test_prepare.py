"""prepare.sh: the standard library, downloads, documents, text to evaluate on; what it refuses."""

import json

import pytest
from fairseq.data import Dictionary, data_utils

from examples.lm.corpus import document_subwords
from fairseq_posenc.analysis.language_model import read_text
from tests.support import archives


def lines(folder, split):
    """The documents in binary data as lines of subwords."""
    dictionary = Dictionary.load(str(folder / "dict.txt"))
    data = data_utils.load_indexed_dataset(str(folder / split), dictionary)
    return [dictionary.string(data[number]) for number in range(len(data))]


def raw(folder, split):
    return [json.loads(line)["text"] for line in (folder / f"{split}.jsonl").read_text("utf-8").split("\n")[:-1]]


def test_binary_data_of_the_standard_library_is_its_source(lm_smoke):
    home = lm_smoke / "smoke" / "stdlib"
    decode = document_subwords.decoder(home / "prepared" / "sentencepiece.model")
    for split in ("train", "valid", "test"):
        assert [decode(line) for line in lines(home / "binary", split)] == raw(home / "raw", split)
    # Enough for 32 times the longest training length, and for what evaluate.sh takes.
    assert len(read_text(home / "binary", "test")) >= max(32 * 32, 16_384)
    assert len(Dictionary.load(str(home / "binary" / "dict.txt"))) == 4 + 500 - 3


def test_a_finished_preparation_is_not_done_again(lm_smoke, lm_script):
    done = lm_script("prepare.sh", "stdlib", SCALE="smoke", WORK=lm_smoke)
    assert done.returncode == 0 and done.stdout.count("already done") == 6


def test_documents_and_a_text_to_evaluate_on(lm_script, tmp_path):
    folder = tmp_path / "my books"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.txt").write_text("".join(f"Line {line} of book {number}.\n" for line in range(120)))
    variables = {"SCALE": "smoke", "WORK": tmp_path / "work"}
    done = lm_script("prepare.sh", "documents", "--data", folder, "--name", "books", **variables)
    assert done.returncode == 2 and "cannot learn 500 pieces" in done.stderr and done.stderr.count("\n") == 1
    archives.gpt2_files(tmp_path / "gpt2")
    done = lm_script(
        *("prepare.sh", "documents", "--data", folder, "--name", "books", "--gpt2", tmp_path / "gpt2"), **variables
    )
    assert done.returncode == 0, done.stderr
    home = tmp_path / "work" / "smoke" / "books"
    decode = document_subwords.decoder(home / "prepared" / "gpt2")
    assert len(raw(home / "raw", "train")) == 3
    assert [decode(line) for line in lines(home / "binary", "test")] == raw(home / "raw", "test")

    other = tmp_path / "other"
    other.mkdir()
    (other / "a").write_text("Quite another text.\n")
    done = lm_script("prepare.sh", "text", "pg22", "--data", other, CORPUS="books", **variables)
    assert done.returncode == 0, done.stderr
    text = home / "texts" / "pg22"
    assert [decode(line) for line in lines(text / "binary", "test")] == ["Quite another text.\n"]
    assert (text / "binary" / "dict.txt").read_bytes() == (home / "binary" / "dict.txt").read_bytes()

    # Changed documents are taken anew, and the old data stay until then.
    (other / "a").write_text("Changed.\n")
    done = lm_script("prepare.sh", "text", "pg22", "--data", other, CORPUS="books", **variables)
    assert [decode(line) for line in lines(text / "binary", "test")] == ["Changed.\n"]
    assert "already done" not in done.stdout


def test_words_of_wikitext_that_are_not_the_published_ones_are_refused(lm_script, tmp_path):
    folder = archives.wikitext(tmp_path / "archives", "words")
    done = lm_script("prepare.sh", "wikitext-103-words", "--data", folder, SCALE="paper", WORK=tmp_path / "work")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "truncated or another file" in done.stderr
    assert not list((tmp_path / "work").rglob("binary"))


def test_wikitext_is_downloaded_from_the_first_mirror_that_has_it(lm_script, tmp_path):
    archives.wikitext(tmp_path / "mirror", "articles")
    done = lm_script(
        *("prepare.sh", "wikitext-103", "--mirror", (tmp_path / "mirror").as_uri()),
        SCALE="small",
        WORK=tmp_path / "work",
    )
    # It is taken, and seen not to be the real one.
    assert f"downloading {(tmp_path / 'mirror').as_uri()}/wikitext-103-raw-v1.zip" in done.stderr
    assert done.returncode == 2 and "not 91c00ae287f0d699" in done.stderr
    assert "wikitext.smerity.com" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        ((), {}, "give stdlib, wikitext-103"),
        (("penn",), {}, "penn is not one of stdlib"),
        (("stdlib",), {"SCALE": "huge"}, "SCALE=huge is not one of paper, small, smoke"),
        (("stdlib", "--data", "."), {}, "--data is not for stdlib"),
        (("stdlib", "--name", "x"), {}, "--name is not for stdlib"),
        (("stdlib", "--mirror", "file:///x"), {}, "--mirror is not for stdlib"),
        (("stdlib", "--gpt2", "/nowhere"), {}, "--gpt2 /nowhere lacks encoder.json"),
        (("stdlib", "--gpt2", "."), {}, "--gpt2 . lacks encoder.json"),
        (("documents",), {}, "give --data DIR"),
        (("documents", "--data", "/nowhere"), {}, "--data /nowhere is not a folder"),
        (("documents", "--data"), {}, "--data needs a value"),
        (("documents", "--data", ".", "--name", "a/b"), {}, "--name a/b is not a valid name"),
        (("documents", "--data", ".", "--name", "stdlib"), {}, "--name stdlib is the name of another corpus"),
        (("documents", "--dta", "."), {}, "option --dta is not one of"),
        (("text",), {}, "give the text a name"),
        (("text", "test", "--data", "."), {}, "the name test is reserved"),
        (("text", "pg22", "--data", "."), {}, "prepare the corpus first"),
        (("text", "pg22", "--data", ".", "--gpt2", "."), {}, "--gpt2 is not for text"),
        (("wikitext-103", "--data", "."), {}, "--data . lacks wikitext-103-raw-v1.zip"),
        (("wikitext-103", "--data", ".", "--mirror", "file:///x"), {}, "give one of them"),
        (("stdlib",), {"WORKERS": "two"}, "WORKERS two is not a whole number above 0"),
        (("stdlib",), {"CORPUS": "../x"}, "CORPUS ../x is not a valid name"),
        (("stdlib",), {"VENV": "/nowhere", "PATH": "/usr/bin:/bin"}, "run scripts/setup.sh"),
    ],
)
def test_bad_input_is_one_line(arguments, variables, message, lm_script, tmp_path):
    result = lm_script("prepare.sh", *arguments, **{"SCALE": "smoke", "WORK": tmp_path / "work", **variables})
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1 and message in result.stderr, result.stderr
    assert not list(tmp_path.rglob("binary"))
