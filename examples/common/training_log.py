"""Reads the log of a training run: size of the model, speed, progress."""

import json
import re
from statistics import median

from fairseq_posenc.errors import InputError

PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")


def records(text, kind):
    """The records of kind "train", one per epoch, or "valid", one per update at which the run validated.

    ``text`` is the ``--log-file`` of fairseq-train with ``--log-format json``. A resumed run may have repeated an epoch
    or a validation; then the last record counts.
    """
    found = {}
    for line in text.split("\n"):
        if not (line.startswith("{") and f'"{kind}_loss"' in line):
            continue
        try:
            record = json.loads(line)
            found[int(record["epoch" if kind == "train" else "valid_num_updates"])] = record
        except (LookupError, TypeError, ValueError, ArithmeticError):  # a truncated line of an interrupted run
            continue
    return [found[key] for key in sorted(found)]


def training_summary(path):
    """Summary of a training run from its train.log.

    Returns:
        dict: ``parameters``, ``epochs``, ``updates``, ``words_per_second`` (target subwords, median of the epochs),
        ``training_minutes`` (without validation and checkpoints), ``best_valid_loss`` and its ``best_update``, and
        ``valid_losses``, a list of [update, loss].

    Raises:
        InputError: there is no log, it has no complete epoch, or a record lacks a number.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; train the system first, with train.sh")
    try:
        return _summary(path)
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise InputError(f"{path} is damaged ({error!r}); train the system again") from None


def _summary(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    epochs, validations = records(text, "train"), records(text, "valid")
    parameters = PARAMETERS.search(text)
    if not epochs or not validations or not parameters:
        raise InputError(f"{path} holds no finished epoch; train the system first, with train.sh")
    losses = [[int(record["valid_num_updates"]), float(record["valid_loss"])] for record in validations]
    best = min(losses, key=lambda pair: pair[1])
    return {
        "parameters": int(parameters.group(1).replace(",", "")),
        # A run that was killed at the end of an epoch may lack the record of this epoch.
        "epochs": epochs[-1]["epoch"],
        "updates": max(int(epochs[-1]["train_num_updates"]), losses[-1][0]),
        "words_per_second": round(median(float(record["train_wps"]) for record in epochs)),
        "training_minutes": round(sum(float(record["train_train_wall"]) for record in epochs) / 60, 2),
        "best_valid_loss": best[1],
        "best_update": best[0],
        "valid_losses": losses,
    }
