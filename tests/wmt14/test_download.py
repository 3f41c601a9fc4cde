"""Downloads from copies on this disk: mirrors, continuation, and files that are not what they were."""

import hashlib
import json

import pytest

from examples.common import fetch
from examples.wmt14.corpus import download, held_out, sources
from fairseq_posenc.errors import InputError
from tests.support import archives

ARCHIVE = sources.NEWS_COMMENTARY


@pytest.fixture
def mirror(tmp_path):
    archives.training_archives(tmp_path / "mirror", "en-de")
    return tmp_path / "mirror"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@pytest.fixture
def checksums(tmp_path):
    return tmp_path / "checksums.json"


def url(path):
    return path.as_uri()


def test_the_first_mirror_that_has_the_file_is_taken_and_the_file_recorded(mirror, folder, checksums, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    fetch.fetch(ARCHIVE, folder, checksums, [url(empty), url(mirror)])
    original = (mirror / ARCHIVE.path).read_bytes()
    assert (folder / ARCHIVE.name).read_bytes() == original
    assert json.loads(checksums.read_text())["files"] == {
        ARCHIVE.name: {
            "bytes": len(original),
            "sha256": hashlib.sha256(original).hexdigest(),
            "from": f"{url(mirror)}/{ARCHIVE.path}",
        }
    }
    assert [path.name for path in folder.iterdir()] == [ARCHIVE.name]


def test_a_record_of_an_older_version_is_read(mirror, folder, checksums):
    """It had the files alone."""
    checksums.write_text(json.dumps({ARCHIVE.name: {"bytes": 1, "sha256": "x", "from": "y"}}))
    with pytest.raises(InputError, match="had 1 at first"):
        fetch.fetch(ARCHIVE, folder, checksums, [url(mirror)])


@pytest.mark.parametrize("text", ["{", "[]", '{"files": []}', '{"files": {"a.tgz": {"bytes": 1}}}', '{"a.tgz": 1}'])
def test_a_damaged_record_is_one_line(text, folder, checksums):
    checksums.write_text(text)
    with pytest.raises(InputError, match=f"{checksums} cannot be read .*; remove it to record the files anew"):
        fetch.fetch(ARCHIVE, folder, checksums, [url(folder)])
    assert checksums.read_text() == text


def test_an_interrupted_download_continues_at_its_end(mirror, folder, checksums):
    original = (mirror / ARCHIVE.path).read_bytes()
    partial = folder / (ARCHIVE.name + ".partial")
    # Bytes that the mirror does not have: they are there at the end only if the download did not start anew.
    partial.write_bytes(b"held" + original[4 : len(original) // 2])
    fetch.fetch(ARCHIVE, folder, checksums, [url(mirror)])
    assert (folder / ARCHIVE.name).read_bytes() == b"held" + original[4:]
    assert not partial.exists()


def test_a_partial_file_that_cannot_be_continued_is_fetched_anew(mirror, folder, checksums):
    original = (mirror / ARCHIVE.path).read_bytes()
    (folder / (ARCHIVE.name + ".partial")).write_bytes(original + b"too much")
    fetch.fetch(ARCHIVE, folder, checksums, [url(mirror)])
    assert (folder / ARCHIVE.name).read_bytes() == original


def test_no_mirror_with_the_file_is_one_line_and_keeps_what_is_there(mirror, folder, checksums, tmp_path):
    (tmp_path / "empty").mkdir()
    (folder / (ARCHIVE.name + ".partial")).write_bytes(b"half")
    with pytest.raises(InputError) as error:
        fetch.fetch(ARCHIVE, folder, checksums, [url(tmp_path / "empty"), url(tmp_path / "none")])
    message = str(error.value)
    assert "\n" not in message and ARCHIVE.name in message and "run again" in message and "--data" in message
    assert url(tmp_path / "empty") in message and url(tmp_path / "none") in message
    assert (folder / (ARCHIVE.name + ".partial")).read_bytes() == b"half"


@pytest.mark.parametrize(
    ("damage", "said"), [(lambda b: b[:-1], "truncated or changed"), (lambda b: b[:-1] + b"?", "SHA-256")]
)
def test_a_file_that_was_cut_off_or_changed_later_is_refused(damage, said, mirror, folder, checksums):
    fetch.fetch(ARCHIVE, folder, checksums, [url(mirror)])
    path = folder / ARCHIVE.name
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=said) as error:
        fetch.fetch(ARCHIVE, folder, checksums, [url(mirror)])
    assert "remove it and run again" in str(error.value) and "\n" not in str(error.value)
    assert path.read_bytes() == damaged
    # The cure, word for word.
    path.unlink()
    fetch.fetch(ARCHIVE, folder, checksums, [url(mirror)])
    assert path.read_bytes() == (mirror / ARCHIVE.path).read_bytes()


def test_another_file_on_the_mirror_is_not_taken_for_the_first_one(mirror, folder, checksums):
    fetch.fetch(ARCHIVE, folder, checksums, [url(mirror)])
    (folder / ARCHIVE.name).unlink()
    archives.write(mirror / ARCHIVE.path, {"other": b"text"})
    with pytest.raises(InputError, match="at first"):
        fetch.fetch(ARCHIVE, folder, checksums, [url(mirror)])
    assert not (folder / ARCHIVE.name).exists()


def test_a_published_md5_decides(mirror, folder, checksums):
    right = hashlib.md5((mirror / ARCHIVE.path).read_bytes()).hexdigest()
    fetch.fetch(sources.Archive(ARCHIVE.path, right), folder, checksums, [url(mirror)])
    (folder / ARCHIVE.name).unlink()
    checksums.unlink()
    with pytest.raises(InputError, match="MD5"):
        fetch.fetch(sources.Archive(ARCHIVE.path, "0" * 32), folder, checksums, [url(mirror)])
    assert not (folder / ARCHIVE.name).exists() and not checksums.exists()


def test_plain_held_out_text_takes_the_place_of_its_archive(folder):
    names = {archive.name for archive in download.needed("en-de", folder)}
    assert {"test.tgz", "test-full.tgz", "test-filtered.tgz", ARCHIVE.name} < names
    archives.held_out_text(folder, "en-de", {"valid": 3, "test": 5})
    assert download.needed("en-de", folder) == [part.archive for part in sources.TRAINING["en-de"]]
    # Of the other pair only what both have.
    assert "test.tgz" in {archive.name for archive in download.needed("en-fr", folder)}


def test_files_that_should_be_there_are_named_and_nothing_is_made(folder, checksums):
    with pytest.raises(InputError, match="lacks training-parallel-europarl-v7.tgz, training-parallel-commoncrawl.tgz"):
        download.main(["en-de", str(folder), str(checksums), "--no-download"])
    assert not checksums.exists() and not list(folder.iterdir())


def test_the_archives_of_the_held_out_sets_are_sacrebleus():
    assert sources.held_out_archive("test") == sources.Archive(
        "wmt14/test-full.tgz", "a8cd784e006feb32ac6f3d9ec7eb389a"
    )
    assert set(held_out.PLAIN) == set(sources.HELD_OUT)
    assert sources.held_out_members("valid", "en-fr") == (
        "test/newstest2013-src.en.sgm",
        "test/newstest2013-src.fr.sgm",
    )
