"""Reading text files: one sentence per line, UTF-8."""

from pathlib import Path

from fairseq_posenc.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"


def read_lines(path):
    r"""Return the lines of a UTF-8 text file without their ``\n``.

    Only ``\n`` ends a line, as in sacreBLEU: ``str.splitlines`` would also split at form feeds, U+2028 and other
    characters inside real sentences. A byte-order mark is kept, because published scores were computed with it.

    Raises InputError if the file is missing, unreadable, empty, compressed, binary, or not UTF-8.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a directory; give a text file with one sentence per line")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None
    if not data:
        raise InputError(f"{path} is empty; give a text file with one sentence per line")
    if data.startswith(GZIP_MAGIC):
        raise InputError(f"{path} is compressed with gzip; decompress it first (gunzip -k {path})")
    if b"\0" in data:
        number = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError(f"{path} is not text: line {number} contains a NUL byte; give UTF-8 text")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path} is not UTF-8: byte 0x{data[error.start]:02x} in line {number}; convert it, for example with iconv"
        ) from None
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def holds_subword_pieces(lines):
    """Tell whether subword-nmt's ``@@`` or sentencepiece's ``▁`` marks are left in the text."""
    return any("@@ " in line or "▁" in line for line in lines)


def looks_tokenized(lines):
    """Tell whether most sentences with a final full stop have a space before it, as in tokenised text."""
    spaced = sum(line.endswith(" .") for line in lines)
    return spaced > sum(line.endswith(".") for line in lines) / 2
