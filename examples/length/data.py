"""Write the examples of a task.

  FOLDER/{train,valid,test}.input, .output   the tokens of the inputs and outputs, one example per line
  FOLDER/{train,valid,test}.text             the same for language models: input, separator, output
  FOLDER/test.prompt                         input and separator of the test examples
  FOLDER/test.lengths                        the length of each test example
  FOLDER/counts.json                         lengths, bands, and numbers of examples

Training and validation examples have all lengths up to --trained, and test examples those of bands.py. An input is for
training, validation or test by its hash, so that no two of them share an input, however many examples there are.
"""

import argparse
import hashlib
from pathlib import Path
from random import Random

from examples.common.command_line import positive, run_main
from examples.common.files import folder_at_once
from examples.length.bands import bands, length_points
from examples.length.tasks import find
from fairseq_posenc.errors import InputError
from fairseq_posenc.results import write_result

SEPARATOR = "="
#: Of eight inputs, one is for testing, one for validation, and the others for training.
PARTS, OF = {"test": (0,), "valid": (1,), "train": range(2, 8)}, 8
#: How many inputs are drawn for each one that is wanted, where a length has few.
ATTEMPTS = 50


def part_of(words):
    """The number of the part that an input belongs to."""
    # Not a checksum such as CRC, which is linear in the bits and may therefore agree with a parity.
    return hashlib.blake2b(" ".join(words).encode(), digest_size=1).digest()[0] % OF


def drawn(task, random, length, parts, count, known=None):
    """Up to ``count`` examples of a length whose inputs belong to these parts; different ones if ``known`` is a set."""
    found = []
    for _ in range(ATTEMPTS * count):
        if len(found) == count:
            break
        words, answer = task.sample(random, length)
        text = " ".join(words)
        if part_of(words) in parts and (known is None or text not in known):
            found.append((text, " ".join(answer)))
            if known is not None:
                known.add(text)
    return found


def examples(task, trained, longest, sizes, seed=1):
    """{"train", "valid", "test": [(length, input, output)]}; those of a test in the order of their lengths.

    Args:
        task: Task.
        trained: the greatest length in training.
        longest: the greatest length in testing.
        sizes: {"train", "valid": examples in total, "test": examples per length}.
        seed: seed of all examples.

    Raises:
        InputError: a band has no example.
    """
    lengths = [length for length in range(1, trained + 1) if task.exists(length)]
    if not lengths:
        raise InputError(f"task {task.name} has no example of length {trained} or less; raise the training length")
    found = {}
    for part in ("train", "valid"):
        random, known = Random(f"{seed} {task.name} {part}"), set() if part == "valid" else None
        quota = [sizes[part] // len(lengths) + (place < sizes[part] % len(lengths)) for place in range(len(lengths))]
        found[part] = [
            (length, *pair)
            for length, count in zip(lengths, quota)
            for pair in drawn(task, random, length, PARTS[part], count, known)
        ]
    random, known, everything = Random(f"{seed} {task.name} test"), set(), range(OF)
    found["test"] = [
        (length, *pair)
        for length in length_points(task, trained, longest)
        for pair in drawn(
            task, random, length, PARTS["test"] if length <= trained else everything, sizes["test"], known
        )
    ]
    for band in bands(trained, longest):
        if not any(band.first <= length <= band.last for length, *_ in found["test"]):
            raise InputError(
                f"task {task.name} has no test example in the band {band.name}, {band.first} to {band.last}"
            )
    return found


def write(folder, task, trained, longest, sizes, seed):
    """Write the files that the top of this module describes."""
    found = examples(task, trained, longest, sizes, seed)
    with folder_at_once(folder) as partial:

        def lines(name, texts):
            (partial / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

        for part, of_part in found.items():
            lines(f"{part}.input", (question for _, question, _ in of_part))
            lines(f"{part}.output", (answer for *_, answer in of_part))
            lines(f"{part}.text", (f"{question} {SEPARATOR} {answer}" for _, question, answer in of_part))
        lines("test.prompt", (f"{question} {SEPARATOR}" for _, question, _ in found["test"]))
        lines("test.lengths", (length for length, *_ in found["test"]))
        counted = [length for length, *_ in found["test"]]
        fields = {
            "task": task.name,
            "length_of": task.length_of,
            "trained": trained,
            "examples": {part: len(of_part) for part, of_part in found.items()},
            "bands": [
                {
                    "band": band.name,
                    "from": band.first,
                    "to": band.last,
                    "examples": sum(band.first <= length <= band.last for length in counted),
                }
                for band in bands(trained, longest)
            ],
        }
        write_result(partial / "counts.json", "corpus", fields)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", help="name of the task")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--trained", type=positive, required=True, metavar="N", help="greatest length in training")
    parser.add_argument("--longest", type=positive, required=True, metavar="N", help="greatest length in testing")
    parser.add_argument("--train", type=positive, required=True, metavar="N", help="training examples")
    parser.add_argument("--valid", type=positive, required=True, metavar="N", help="validation examples")
    parser.add_argument("--test", type=positive, required=True, metavar="N", help="test examples of each length")
    parser.add_argument("--seed", type=positive, default=1, help="seed of the examples (default: 1)")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    sizes = {part: getattr(args, part) for part in ("train", "valid", "test")}
    write(args.folder, find(args.task), args.trained, args.longest, sizes, args.seed)


if __name__ == "__main__":
    run_main(main)
