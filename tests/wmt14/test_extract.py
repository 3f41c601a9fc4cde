"""From archives to text: every line with its translation."""

import gzip
import json

import pytest
from sacrebleu.dataset import DATASETS

from examples.common import small_text
from examples.wmt14.corpus import extract, held_out, sources
from fairseq_posenc.errors import InputError
from tests.support import archives

SIZES = {"valid": 7, "test": 9}


def flat(mirror):
    """All archives of a mirror in one folder, as the download leaves them."""
    for path in list(mirror.rglob("*.t*")):
        path.rename(mirror / path.name)
    return mirror


@pytest.mark.parametrize("pair", ["en-de", "en-fr"])
def test_the_text_comes_out_in_pairs_and_in_order(pair, tmp_path, capsys):
    training = archives.training_archives(tmp_path / "mirror", pair)
    sets = archives.held_out_archives(tmp_path / "mirror", pair, SIZES)
    folder = flat(tmp_path / "mirror")
    extract.main([pair, str(folder), str(tmp_path / "raw")])
    for side, language in enumerate(pair.split("-")):
        for split, sentences in {"train": training, "valid": sets["valid"], "test": sets["test"]}.items():
            assert (tmp_path / "raw" / f"{split}.{language}").read_bytes() == archives.text(sentences, side), split
    # The official test set in its own order: places in the full one.
    assert (tmp_path / "raw" / "test-sacrebleu.lines").read_text() == "9\n7\n5\n3\n1\n"
    counts = json.loads((tmp_path / "raw" / "counts.json").read_text())
    assert sum(counts["training_pairs"].values()) == len(training) == 60 * len(sources.TRAINING[pair])
    warnings = capsys.readouterr().err
    assert warnings.count("pairs; expected") == len(sources.TRAINING[pair])
    assert f"has 60 pairs; expected {sources.TRAINING[pair][0].pairs:,}" in warnings
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mirror", "raw"]


def test_sgml_is_read_as_sacrebleu_reads_it(tmp_path):
    lines = [
        '<seg id="1"> Two  spaces\u00a0and a no-break one </seg>',
        "<p>",
        '<seg id="2">a < b &amp; c</seg>',
        "</p>",
    ]
    (tmp_path / "a.sgm").write_text("\n".join(lines) + "\n", encoding="utf-8")
    DATASETS["wmt14"]._convert_format(str(tmp_path / "a.sgm"), str(tmp_path / "a.txt"))
    source, reference = sources.held_out_members("test", "en-de")
    content = (tmp_path / "a.sgm").read_bytes()
    archives.write(tmp_path / "test-full.tgz", {source: content, reference: content})
    ours = held_out.read(tmp_path, "test", "en-de")[0]
    assert ours == (tmp_path / "a.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(ours) == 2


def test_a_repeated_sentence_of_the_official_set_takes_one_place_each():
    whole = (["a", "b", "a", "c"], ["A", "B", "A", "C"])
    assert held_out.positions((["c", "a", "a"], ["C", "A", "A"]), whole) == [3, 0, 2]
    with pytest.raises(InputError, match="sacreBLEU's: 'a'"):
        held_out.positions((["a"] * 3, ["A"] * 3), whole)


def test_a_truncated_archive_is_one_line_and_leaves_no_text(tmp_path):
    archives.training_archives(tmp_path / "mirror", "en-de", count=2000)
    archives.held_out_text(flat(tmp_path / "mirror"), "en-de", SIZES)
    path = tmp_path / "mirror" / sources.COMMON_CRAWL.name
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="remove it and run again") as error:
        extract.main(["en-de", str(tmp_path / "mirror"), str(tmp_path / "raw")])
    assert str(path) in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "raw").exists()


def test_sides_of_different_length_and_missing_parts_are_refused(tmp_path):
    archives.training_archives(tmp_path / "mirror", "en-de")
    folder = flat(tmp_path / "mirror")
    members = {"training/news-commentary-v9.de-en.en": b"a\nb\n", "training/news-commentary-v9.de-en.de": b"A\n"}
    archives.write(folder / sources.NEWS_COMMENTARY.name, members)
    with pytest.raises(InputError, match="2 and 1 lines"):
        extract.training_text("en-de", folder, tmp_path)
    del members["training/news-commentary-v9.de-en.de"]
    archives.write(folder / sources.NEWS_COMMENTARY.name, members)
    with pytest.raises(InputError, match="lacks training/news-commentary-v9.de-en"):
        extract.training_text("en-de", folder, tmp_path)


def newstest(folder, pair="en-de"):
    folder.mkdir()
    for names in small_text.newstest_files(pair).values():
        for name in names:
            side = 0 if ".en." in name else 1
            archives_text = archives.text(archives.pairs(name.split(".")[0], 4), side)
            (folder / name).write_bytes(gzip.compress(archives_text))
    return folder


def test_newstest_in_order_of_the_years(tmp_path):
    data = newstest(tmp_path / "data")
    small_text.main(["newstest", "en-de", str(tmp_path / "raw"), "--data", str(data)])
    for side, language in enumerate(("en", "de")):
        text = (tmp_path / "raw" / f"train.{language}").read_bytes()
        assert text == b"".join(archives.text(archives.pairs(f"newstest{year}", 4), side) for year in range(2008, 2013))
    assert (tmp_path / "raw" / "test.de").read_bytes() == archives.text(archives.pairs("newstest2014", 4), 1)


def test_newstest_with_a_missing_damaged_or_shorter_file(tmp_path):
    data = newstest(tmp_path / "data")
    whole = (data / "newstest2010.de.gz").read_bytes()
    for content, said in ((whole[:-9], "fetch the file again"), (gzip.compress(b"A\n"), "has 4 lines")):
        (data / "newstest2010.de.gz").write_bytes(content)
        with pytest.raises(InputError, match=said):
            small_text.write_newstest(data, "en-de", tmp_path)
    (data / "newstest2010.de.gz").unlink()
    with pytest.raises(InputError, match="lacks newstest2010.de.gz"):
        small_text.write_newstest(data, "en-de", tmp_path)


def test_a_little_grammar(tmp_path, grammar_corpus):
    small_text.main(["grammar", "en-de", str(tmp_path / "raw"), "--most", "1000"])
    for split, count in {"train": 1000, "valid": 30, "test": 30}.items():
        for side, language in enumerate(("en", "de")):
            lines = (tmp_path / "raw" / f"{split}.{language}").read_text(encoding="utf-8").split("\n")
            assert lines == [pair[side] for pair in grammar_corpus[split][:count]] + [""]
