"""Documents become splits, subwords and data without the loss of a character."""

import gzip
import json
import random

import pytest

from examples.lm.corpus import document_subwords, documents, splits, standard_library, wikitext
from fairseq_posenc.errors import InputError
from tests.support import archives

# White space that fairseq would break words at, a tab, characters that are in no piece, runs of blanks.
ODD = "  two  blanks\tand a tab\n\n    no\u00a0break \u2028 line, \x0b \u3000 wide; 漢字 🙂 ½\r\n\tend  \n"


def names(folder, split):
    return [json.loads(line)["name"] for line in (folder / f"{split}.jsonl").read_text().split("\n")[:-1]]


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def test_whole_long_documents_are_held_out_the_same_every_time():
    sizes = {f"d{number}": 1000 + number for number in range(50)} | {f"long{number}": 9000 for number in range(10)}
    shuffled = list(sizes.items())
    random.Random(1).shuffle(shuffled)
    assigned = splits.assign(sizes, 4000, 5000)
    assert splits.assign(dict(shuffled), 4000, 5000) == assigned
    held_out = {split: [name for name in sizes if assigned[name] == split] for split in ("valid", "test")}
    # One long document is more than the 4,000 characters that are wanted.
    assert all(len(held) == 1 and held[0].startswith("long") for held in held_out.values())
    # No more than 5 % where more is asked for, to within a document.
    assert (
        sum(sizes[name] for name in sizes if splits.assign(sizes, 10**9, 5000)[name] == "test") < 0.05 * 142_000 + 9000
    )


def test_where_no_document_is_long_the_longest_are_held_out():
    assigned = splits.assign({"a": 10, "b": 30, "c": 20, "d": 5}, 1, 1000)
    assert assigned == {"a": "train", "b": "test", "c": "valid", "d": "train"}


@pytest.mark.parametrize("sizes", [{}, {"a": 1}, {"a": 1, "b": 2}])
def test_too_few_documents_are_one_line(sizes):
    with pytest.raises(InputError, match="give three or more"):
        splits.assign(sizes, 10, 10)


def test_documents_of_a_folder_packed_or_not(tmp_path):
    files = {f"book{number}.txt": f"Book {number}.\r\n" * 40 for number in range(6)}
    write(tmp_path / "in", **files, **{"sub/packed.txt.gz": gzip.compress(ODD.encode()), "empty": "", ".hidden": "x"})
    documents.main([str(tmp_path / "in"), str(tmp_path / "out"), "--held-out", "500", "--long", "100"])
    found = {}
    for split in splits.SPLITS:
        for line in (tmp_path / "out" / f"{split}.jsonl").read_text(encoding="utf-8").split("\n")[:-1]:
            found |= {json.loads(line)["name"]: json.loads(line)["text"]}
    assert set(found) == {*files, "sub/packed.txt.gz"}
    assert found["book1.txt"] == "Book 1.\n" * 40 and found["sub/packed.txt.gz"] == ODD.replace("\r\n", "\n")
    counts = json.loads((tmp_path / "out" / "counts.json").read_text())
    assert sum(counts[split]["documents"] for split in splits.SPLITS) == 7


def test_names_may_say_what_is_held_out(tmp_path):
    write(tmp_path / "in", **{"train.a.txt": "a" * 9, "train.b.txt": "b", "valid/c.txt": "c", "test.d.txt": "d" * 90})
    documents.main([str(tmp_path / "in"), str(tmp_path / "out")])
    assert sorted(names(tmp_path / "out", "train")) == ["train.a.txt", "train.b.txt"]
    assert (names(tmp_path / "out", "valid"), names(tmp_path / "out", "test")) == (["valid/c.txt"], ["test.d.txt"])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no files"),
        ({"a": "", "b": ""}, "has only empty files"),
        ({"a": "x", "b": b"caf\xe9", "c": "x"}, "b is not UTF-8 text .byte 3.; convert it"),
        ({"a": "x", "b.gz": b"no gzip", "c": "x"}, "cannot read .*b.gz"),
        ({"train.a": "x", "valid.b": "x", "test.c": "x", "notes": "x"}, "but notes is not; name all or none"),
        ({"train.a": "x", "valid.b": "x"}, "has no document test"),
    ],
)
def test_documents_that_cannot_be_used_are_one_line(files, message, tmp_path):
    write(tmp_path / "in", **files)
    with pytest.raises(InputError, match=message) as error:
        documents.main([str(tmp_path / "in"), str(tmp_path / "out")])
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


def test_the_standard_library_has_long_documents_and_no_generated_ones(tmp_path):
    for folder in ("one", "two"):
        standard_library.main([str(tmp_path / folder)])
    assert (tmp_path / "one" / "test.jsonl").read_bytes() == (tmp_path / "two" / "test.jsonl").read_bytes()
    held_out = [
        json.loads(line)
        for split in ("valid", "test")
        for line in (tmp_path / "one" / f"{split}.jsonl").read_text().split("\n")[:-1]
    ]
    # 32 x 256 tokens of some four characters.
    assert all(len(document["text"]) >= 32_768 for document in held_out)
    assert sum(len(document["text"]) for document in held_out) >= 800_000
    found = {*names(tmp_path / "one", "train"), *(document["name"] for document in held_out)}
    assert {"argparse.py", "json/decoder.py"} < found
    assert not any(name.startswith(("test/", "site-packages/", "pydoc_data/", "_sysconfigdata")) for name in found)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """(model, dictionary) of 400 pieces, learned on a text with odd characters."""
    folder = tmp_path_factory.mktemp("pieces")
    generator = random.Random(1)
    words = ["def", "return", "self", "value", "the", "number", "of", "tokens"]
    lines = [f"    {' '.join(generator.choices(words, k=5))} = {generator.randrange(999)}" for _ in range(500)]
    with open(folder / "train.jsonl", "w", encoding="utf-8") as file:
        for text in ("\n".join(lines), ODD * 3):
            file.write(json.dumps({"name": "x", "text": text}) + "\n")
    document_subwords.learn(400, folder / "model", folder / "dict.txt", folder / "train.jsonl")
    return folder / "model", folder / "dict.txt"


@pytest.mark.parametrize("text", [ODD, "plain", "", "\n", "   ", "def return(self):\n\treturn value\n", "Ω≈ç√\x00\x1f"])
def test_pieces_keep_every_character_and_are_in_the_dictionary(text, pieces):
    model, dictionary = pieces
    line = document_subwords.encoder(model)(text)
    assert document_subwords.decoder(model)(line) == text
    known = {entry.rsplit(" ", 1)[0] for entry in dictionary.read_text(encoding="utf-8").split("\n")}
    # As fairseq takes a line apart, where other white space than blanks ends a word too.
    assert set(line.split()) <= known and line.split() == [word for word in line.split(" ") if word]


def test_a_document_is_one_line_with_several_processes_too(pieces, tmp_path):
    texts = [ODD, "a\nb\n", "value" * 30]
    with open(tmp_path / "in.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"name": "x", "text": text}) + "\n" for text in texts)
    for workers in (1, 2):
        document_subwords.apply(pieces[0], tmp_path / "in.jsonl", tmp_path / f"out{workers}", workers)
        lines = (tmp_path / f"out{workers}").read_text(encoding="utf-8").split("\n")[:-1]
        assert [document_subwords.decoder(pieces[0])(line) for line in lines] == texts


def test_more_pieces_than_the_text_has_are_one_line(tmp_path):
    (tmp_path / "train.jsonl").write_text(json.dumps({"name": "x", "text": "a few words"}) + "\n")
    with pytest.raises(InputError, match="cannot learn 5000 pieces"):
        document_subwords.learn(5000, tmp_path / "model", tmp_path / "dict.txt", tmp_path / "train.jsonl")
    assert {path.name for path in tmp_path.iterdir()} == {"train.jsonl"}


def test_gpt2_subwords_where_their_files_are_given(tmp_path):
    count = archives.gpt2_files(tmp_path / "gpt2")
    document_subwords.main(["gpt2", str(tmp_path / "gpt2"), str(tmp_path / "model"), str(tmp_path / "dict.txt")])
    assert (tmp_path / "dict.txt").read_text().split("\n")[:-1] == [f"{number} 1" for number in range(count)]
    line = document_subwords.encoder(tmp_path / "model")("the\n" + ODD)
    assert line.split()[0] == str(count - 1)
    assert document_subwords.decoder(tmp_path / "model")(line) == "the\n" + ODD
    (tmp_path / "gpt2" / "vocab.bpe").unlink()
    with pytest.raises(InputError, match="lacks vocab.bpe"):
        document_subwords.copy_gpt2(tmp_path / "gpt2", tmp_path / "model", tmp_path / "dict.txt")


def test_articles_of_wikitext_are_documents(tmp_path):
    wikitext.main(["articles", str(archives.wikitext(tmp_path / "in", "articles")), str(tmp_path / "out")])
    texts = [json.loads(line)["text"] for line in (tmp_path / "out" / "valid.jsonl").read_text().split("\n")[:-1]]
    assert sorted(texts) == [
        "= First = \n \n Text . \n = = Section = = \n More .\n",
        "= Second = Half = \n \n Other text .\n",
    ]


def test_words_of_wikitext_are_its_lines_and_counted(tmp_path, capsys):
    wikitext.main(["words", str(archives.wikitext(tmp_path / "in", "words")), str(tmp_path / "out")])
    assert (tmp_path / "out" / "train.words").read_text() == "".join(archives.ARTICLES)
    assert "valid has 30 words, not 217,646" in capsys.readouterr().err


def test_an_archive_that_is_not_wikitext_is_one_line(tmp_path):
    folder = archives.wikitext(tmp_path / "in", "words")
    with pytest.raises(InputError, match="SHA-256 .* not 242ba0f2"):
        wikitext.main(["fetch", "words", str(folder), str(tmp_path / "checksums.json")])
    with pytest.raises(InputError, match="cannot read .*raw-v1.zip.*remove it and run again"):
        wikitext.main(["articles", str(folder), str(tmp_path / "out")])
    assert not (tmp_path / "checksums.json").exists() and not (tmp_path / "out").exists()
