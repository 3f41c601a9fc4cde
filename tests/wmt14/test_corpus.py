"""Tokens, subwords, cleaning: what happens to a line of text."""

import pytest
from sacremoses import MosesDetokenizer

from examples.common import lines, moses, subwords
from examples.wmt14.corpus import clean
from fairseq_posenc.errors import InputError


def double(prefix):
    return lambda line: f"{prefix}{line}\u2028{line}"


@pytest.mark.parametrize("workers", [1, 2])
def test_lines_are_rewritten_in_order_whatever_they_hold(workers, tmp_path):
    texts = [f"line {number}" for number in range(2 * lines.BLOCK + 7)]
    texts[3] = "a\u0085b"  # no line ends here, although str.splitlines says so
    texts[4] = ""
    (tmp_path / "in").write_bytes("\n".join(texts).encode())
    lines.rewrite(tmp_path / "in", tmp_path / "out", double, (">",), workers)
    written = (tmp_path / "out").read_text(encoding="utf-8").split("\n")
    assert written.pop() == ""
    assert written == [" ".join(f">{text} {text}".split()) for text in texts]
    assert written[3] == ">a b a b"
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["in", "out"]


def test_bytes_that_are_no_utf8_do_not_stop_it(tmp_path):
    (tmp_path / "in").write_bytes(b"gut\nschl\xe4ft\nja\n")
    lines.rewrite(tmp_path / "in", tmp_path / "out", double, ("",), 1)
    assert (tmp_path / "out").read_text(encoding="utf-8").split("\n") == [
        "gut gut",
        "schl\ufffdft schl\ufffdft",
        "ja ja",
        "",
    ]


def fail_late(limit):
    def convert(line):
        if line == limit:
            raise RuntimeError("interrupted")
        return line

    return convert


def test_an_interrupted_rewriting_leaves_the_old_file(tmp_path):
    (tmp_path / "in").write_text("one\ntwo\n")
    (tmp_path / "out").write_text("old\n")
    with pytest.raises(RuntimeError, match="interrupted"):
        lines.rewrite(tmp_path / "in", tmp_path / "out", fail_late, ("two",), 1)
    assert (tmp_path / "out").read_text() == "old\n"


def test_tokens_can_be_undone(tmp_path):
    text = "Er sagt: „Das ist gut“, und geht.\nEin T-Shirt & ein 3,5-Liter-Topf.\n\nL'homme  qu'il voit…\n"
    (tmp_path / "raw").write_text(text, encoding="utf-8")
    for language in ("fr", "de"):
        moses.main([language, str(tmp_path / "raw"), str(tmp_path / "tokens")])
        assert (tmp_path / "tokens").read_text(encoding="utf-8").count("\n") == 4
    assert "T @-@ Shirt &amp; ein" in (tmp_path / "tokens").read_text(encoding="utf-8")
    assert (
        MosesDetokenizer("de").detokenize(moses.tokenizer("de")("Ein T-Shirt & mehr.").split()) == "Ein T-Shirt & mehr."
    )


@pytest.mark.parametrize(("kind", "undo"), [("subword_nmt", lambda s: s.replace("@@ ", "")), ("sentencepiece", None)])
def test_subwords_of_both_languages_are_learned_applied_and_joined_again(kind, undo, tmp_path, grammar_corpus):
    for side, language in enumerate(("en", "de")):
        text = "".join(pair[side] + "\n" for pair in grammar_corpus["train"][:400])
        (tmp_path / f"text.{language}").write_text(text, encoding="utf-8")
    model, texts = tmp_path / "model", [tmp_path / "text.en", tmp_path / "text.de"]
    subwords.main(["learn", kind, "300", str(model), *map(str, texts)])
    pieces = set()
    for path in texts:
        subwords.main(["apply", kind, str(model), str(path), str(tmp_path / "pieces")])
        cut = (tmp_path / "pieces").read_text(encoding="utf-8").split("\n")
        pieces.update(piece for line in cut for piece in line.split())
        join = undo or (lambda line: line.replace(" ", "").replace("▁", " ").strip())
        assert [join(line) for line in cut] == path.read_text(encoding="utf-8").split("\n")
    assert 200 < len(pieces) < 400  # one small vocabulary for both languages


def test_too_many_pieces_for_the_text_are_one_line(tmp_path):
    (tmp_path / "text").write_text("a b c\n")
    with pytest.raises(InputError, match="cannot learn 300 pieces") as error:
        subwords.learn("sentencepiece", 300, tmp_path / "model", [tmp_path / "text"])
    assert "\n" not in str(error.value)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        (1, 1, "kept"),
        (250, 250, "kept"),
        (251, 250, "too long"),
        (200, 251, "too long"),
        (0, 1, "empty"),
        (1, 0, "empty"),
        (2, 3, "kept"),  # exactly 1.5
        (3, 2, "kept"),
        (5, 8, "ratio"),
        (8, 5, "ratio"),
    ],
)
def test_cleaning_rules(source, target, kept):
    assert clean.verdict(source, target, 250, 1.5) == kept


def test_cleaning_keeps_pairs_together_and_counts(tmp_path):
    (tmp_path / "in.en").write_text("a b\n\nc d e f\ng@@ h i\n")
    (tmp_path / "in.de").write_text("A B\nB\nC\nG H@@ I\n")
    counts = clean.clean(tmp_path / "in", tmp_path / "out", "en", "de", 250, 1.5)
    assert counts == {"kept": 2, "empty": 1, "too long": 0, "ratio": 1}
    assert (tmp_path / "out.en").read_text() == "a b\ng@@ h i\n"
    assert (tmp_path / "out.de").read_text() == "A B\nG H@@ I\n"


@pytest.mark.parametrize(("source", "target"), [("a\nb\n", "A\n"), ("a\n", "A\nB\n")])
def test_sides_of_different_length_are_refused_before_anything_is_replaced(source, target, tmp_path):
    (tmp_path / "in.en").write_text(source)
    (tmp_path / "in.de").write_text(target)
    with pytest.raises(InputError, match="different numbers of lines"):
        clean.clean(tmp_path / "in", tmp_path / "out", "en", "de", 250, 1.5)
    assert not (tmp_path / "out.en").exists()


def test_nothing_kept_is_an_error(tmp_path):
    (tmp_path / "in.en").write_text("a b c d\n")
    (tmp_path / "in.de").write_text("A\n")
    with pytest.raises(InputError, match="no pair"):
        clean.clean(tmp_path / "in", tmp_path / "out", "en", "de", 250, 1.5)
