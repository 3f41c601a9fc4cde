"""Rewrites a text file line by line on several cores. The order of lines stays, and no partial output is left."""

import itertools
import multiprocessing
from pathlib import Path

from tqdm import tqdm

from examples.common.files import file_at_once
from fairseq_posenc.errors import InputError

BLOCK = 2000  # lines that one process rewrites at a time

_convert = None  # in a worker process: the function that rewrites a line


def rewrite(source, target, make, arguments, workers):
    r"""Write ``make(*arguments)(line)`` for every line of ``source`` to ``target``.

    Only ``\n`` ends a line of the source. In a result, each run of white space becomes one space, including U+0085 and
    U+2028, where other tools would end the line. Bytes that are not UTF-8 become U+FFFD.

    Args:
        make: a function at the top level of a module; each process calls it once.
        workers: number of processes.

    Raises:
        InputError: the source does not exist.
    """
    source, target = Path(source), Path(target)
    if not source.is_file():
        raise InputError(f"cannot read {source}: no such file; run the steps before this one")
    with open(source, "rb") as lines, file_at_once(target) as output:
        blocks = iter(lambda: list(itertools.islice(lines, BLOCK)), [])
        progress = tqdm(
            total=source.stat().st_size, desc=target.name, unit="B", unit_scale=True, leave=False, disable=None
        )
        with progress:
            if workers == 1:
                _start(make, arguments)
                results = map(_rewrite_block, blocks)
                _write(results, output, progress)
            else:
                with multiprocessing.Pool(workers, _start, (make, arguments)) as pool:
                    _write(pool.imap(_rewrite_block, blocks), output, progress)


def _start(make, arguments):
    global _convert
    _convert = make(*arguments)


def _rewrite_block(block):
    """The rewritten lines of a block as one string, and the bytes of the block."""
    texts = (line.rstrip(b"\n").decode("utf-8", errors="replace") for line in block)
    return "".join(" ".join(_convert(text).split()) + "\n" for text in texts), sum(map(len, block))


def _write(results, output, progress):
    for text, size in results:
        output.write(text.encode())
        progress.update(size)
