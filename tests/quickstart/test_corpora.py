"""Multi30k from a folder or an address: only whole, right files are ever taken."""

import gzip
import hashlib
import http.server
import threading
from pathlib import Path

import pytest

from examples.common import multi30k
from fairseq_posenc.errors import InputError

CAPTIONS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "multi30k"
NAME = "train.en.gz"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder that stands for the site, with one file of the pinned checksum."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / NAME).write_bytes(bytes(range(256)) * 1000)
    monkeypatch.setattr(multi30k, "SPLITS", {"train": "train"})
    monkeypatch.setattr(multi30k, "files", lambda pair: {NAME: "train.en"})
    monkeypatch.setitem(multi30k.SHA256, NAME, hashlib.sha256((folder / NAME).read_bytes()).hexdigest())
    return folder


def test_downloads_once_and_only_the_right_file(site, tmp_path):
    data = tmp_path / "data"
    multi30k.download("en-de", data, site.as_uri())
    assert (data / NAME).read_bytes() == (site / NAME).read_bytes()
    (site / NAME).unlink()
    multi30k.download("en-de", data, site.as_uri())
    assert {path.name for path in data.iterdir()} == {NAME, "checksums.json"}


def test_a_wrong_checksum_is_refused_and_nothing_is_left(site, tmp_path):
    data = tmp_path / "data"
    (site / NAME).write_bytes(b"a page that says Not Found")
    with pytest.raises(InputError, match="SHA-256") as error:
        multi30k.download("en-de", data, site.as_uri())
    assert "\n" not in str(error.value)
    assert list(data.iterdir()) == []


def test_an_unreachable_address_is_one_line_with_a_cure(site, tmp_path):
    (site / NAME).unlink()
    with pytest.raises(InputError, match="--data") as error:
        multi30k.download("en-de", tmp_path / "data", site.as_uri())
    assert "\n" not in str(error.value)


def test_an_interrupted_download_continues(site, tmp_path):
    whole = (site / NAME).read_bytes()
    asked = []

    class Ranges(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.headers["Range"])
            start = int(self.headers["Range"][len("bytes=") : -1])
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
            self.send_header("Content-Length", str(len(whole) - start))
            self.end_headers()
            self.wfile.write(whole[start:])

        def log_message(self, *_):
            pass

    data = tmp_path / "data"
    data.mkdir()
    (data / (NAME + ".partial")).write_bytes(whole[:1000])
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        multi30k.download("en-de", data, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert asked == ["bytes=1000-"]
    assert (data / NAME).read_bytes() == whole


def test_sides_of_different_length_are_refused(tmp_path):
    for archive in multi30k.files("en-de"):
        text = "a\nb\n" if archive != "val.de.gz" else "a\n"
        (tmp_path / archive).write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputError, match="valid has 2 lines in en but 1 in de"):
        multi30k.write(tmp_path, "en-de", tmp_path)
    (tmp_path / "train.en.gz").write_bytes(b"\x1f\x8b half")
    with pytest.raises(InputError, match=r"cannot read .*train\.en\.gz"):
        multi30k.write(tmp_path, "en-de", tmp_path)


@pytest.mark.skipif(not CAPTIONS.is_dir(), reason="no copy of Multi30k beside the repository")
@pytest.mark.parametrize("language", ["de", "fr"])
def test_the_pinned_checksums_are_those_of_multi30k(tmp_path, language):
    multi30k.download(f"en-{language}", tmp_path, CAPTIONS.as_uri())
    multi30k.write(tmp_path, f"en-{language}", tmp_path)
    lines = [(tmp_path / f"{split}.{language}").read_text(encoding="utf-8").count("\n") for split in multi30k.SPLITS]
    assert lines == [29000, 1014, 1000]
