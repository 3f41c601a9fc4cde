"""Repairs the checkpoints of a training run that was killed, so that it ends with the same numbers when resumed."""

import os
import re
import shutil
import zipfile

from examples.common.training_log import records


def last_update(argv):
    """The number of updates of a run as a string, or None if its length is a number of epochs."""
    return argv[argv.index("--max-update") + 1] if "--max-update" in argv else None


def has_ended(folder, argv):
    """Whether a run has finished, even if it was killed before this was recorded.

    fairseq saves its last checkpoint before it writes the line of the epoch to train.log.
    """
    log, last = folder / "train.log", last_update(argv)
    if not last or not log.is_file() or not (folder / "checkpoints" / "checkpoint_last.pt").is_file():
        return False
    text = log.read_text(encoding="utf-8", errors="replace")
    return any(record["train_num_updates"] == last for record in records(text, "train"))


def restore(folder, argv):
    """Repair the checkpoints of a run that was killed.

    fairseq writes a checkpoint under a temporary name and renames it, but then copies it to checkpoint_best.pt and
    checkpoint_last.pt, and a kill may truncate a copy. A run that was killed between its last checkpoint and its end
    goes back to the previous checkpoint, because fairseq would train for one update more.
    """
    checkpoints, whole = folder / "checkpoints", []
    for path in sorted(checkpoints.glob("checkpoint*.pt"), key=lambda path: path.stat().st_mtime_ns):
        if zipfile.is_zipfile(path):
            whole.append(path)
        else:
            path.unlink()
    if not whole:
        return
    for name in {"checkpoint_best.pt", "checkpoint_last.pt"} - {path.name for path in whole}:
        copy(whole[-1], checkpoints / name)
    found = [(re.fullmatch(r"checkpoint_\d+_(\d+)\.pt", path.name), path) for path in whole]
    by_updates = {name[1]: path for name, path in found if name}
    last = last_update(argv)
    if last not in by_updates:
        return
    if not has_ended(folder, argv):
        by_updates.pop(last).unlink()
        last = max(by_updates, key=int, default=None)
    if last:
        copy(by_updates[last], checkpoints / "checkpoint_last.pt")
    else:
        shutil.rmtree(checkpoints)


def copy(path, target):
    partial = target.with_name(target.name + ".partial")
    shutil.copyfile(path, partial)
    os.replace(partial, target)
