"""A training run of fairseq-train as a step: on any number of machines, once, with one setting per folder."""

import json
import os
import re
import shutil
import subprocess
import zipfile

from examples.common.engine import Command, CommandFailed, Lock, Step, say, show_end
from examples.common.training_log import records
from examples.common.variables import count, variable
from fairseq_posenc.errors import InputError


class Processes:
    """The machines and GPUs of a training run: GPUS, NNODES, NODE_RANK, MASTER_ADDR, MASTER_PORT."""

    def __init__(self):
        self.gpus, self.machines = count("GPUS", variable("GPUS", "1")), count("NNODES", variable("NNODES", "1"))
        self.number = self.gpus * self.machines
        self.rank = variable("NODE_RANK", "0")
        self.address, self.port = variable("MASTER_ADDR"), variable("MASTER_PORT", "29500")
        if self.machines == 1:
            self.rank = "0"
            return
        if not self.address:
            raise InputError(f"NNODES={self.machines} needs MASTER_ADDR, the address of the first machine")
        if not self.rank.isdecimal():
            raise InputError(f"NODE_RANK={self.rank} is not a whole number")
        if int(self.rank) >= self.machines:
            raise InputError(f"NODE_RANK={self.rank} is not below NNODES={self.machines}")

    def one(self, scale):
        """Raise InputError unless there is one process; the batch of this scale is chosen for one."""
        if self.number != 1:
            raise InputError(
                f"SCALE={scale} trains in one process, because more would enlarge the batch; leave GPUS out"
            )

    def launcher(self):
        """The launcher: the arguments before the options of fairseq-train."""
        if self.machines != 1:
            words = ["torchrun", "--nnodes", self.machines, "--node_rank", self.rank, "--nproc_per_node", self.gpus]
            words += ["--master_addr", self.address, "--master_port", self.port]
        elif self.gpus != 1:
            words = ["torchrun", "--standalone", "--nproc_per_node", self.gpus]
        else:
            return ["fairseq-train"]
        return [*map(str, words), "--no-python", "fairseq-train"]


class Training(Step):
    """A training run that fills a folder: checkpoints/, train.log, command, settings, and finished at its end.

    Args:
        title: of the system.
        folder: Path of the system.
        words: the command.
        made_of: function without arguments to the text that the model is made of, its settings and words; machines and
            places may change between a start and a continuation.
        processes: Processes.
        inputs: files and folders that it reads.
        environment: variables of the command; at: the folder that it runs in.
        anew: another training in the folder, and what depends on it, gives way instead of being kept.
    """

    def __init__(self, title, folder, words, made_of, processes, inputs=(), environment=None, at=None, anew=False):
        super().__init__(
            title,
            [Command(["mkdir", "-p", folder]), Command(words, at)],
            mark=folder / "finished",
            inputs=inputs,
            outputs=(folder / "checkpoints",),
            made_of=made_of,
            environment=environment or {},
        )
        self.folder, self.processes, self.anew = folder, processes, anew

    def name(self):
        return f"train {self.title}"

    def settled(self):
        """Refuse a run with other settings in this folder; record the command; return the settings."""
        settings, made_of = self.folder / "settings", self.made_of()
        if self.anew and not (settings.is_file() and settings.read_text(encoding="utf-8").rstrip("\n") == made_of):
            shutil.rmtree(self.folder, ignore_errors=True)
        if settings.is_file() and settings.read_text(encoding="utf-8").rstrip("\n") != made_of:
            raise InputError(
                f"{self.folder} was trained with other settings or another dictionary ({settings}); give NAME=..., "
                "or remove the folder"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "command").write_text(str(self.commands[1]) + "\n", encoding="utf-8")
        return made_of

    def is_done(self):
        self.settled()
        return self.mark.is_file()

    def forget(self):
        """Keep a finished run, because its settings describe the content of its folder."""

    def do(self, runner, quiet):
        # Every machine is one of them.
        with Lock(self.folder, f".lock-{self.processes.rank}"):
            (self.folder / "settings").write_text(self.settled() + "\n", encoding="utf-8")
            ended = has_ended(self.folder, self.words())
            if self.processes.rank == "0":
                restore(self.folder, self.words())
            if not ended and quiet:
                self.followed(runner)
            elif not ended:
                self.commands[1].run(runner, quiet, self.environment)
            self.mark.touch()

    def words(self):
        return self.commands[1].words

    def followed(self, runner):
        """Train with the output in train.out, and print one line per validation."""
        output = self.folder / "train.out"
        with open(output, "ab") as log:
            process = runner.start(
                self.words(),
                self.commands[1].folder,
                self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            with process.stdout:
                for line in process.stdout:
                    log.write(line)
                    log.flush()
                    self.progress(line.decode(errors="replace"))
            status = runner.end(process)
        if status:
            show_end(output)
            raise CommandFailed(f"training {self.title} failed; its output is {output}")

    def progress(self, line):
        record = validation(line)
        if record:
            say(
                f"{self.title}: epoch {record['epoch']}, update {record['valid_num_updates']}, "
                f"validation loss {record['valid_loss']}"
            )


def validation(line):
    """The record of a validation in a line of fairseq's log, or None."""
    _, found, record = line.partition("| INFO | valid | {")
    return json.loads("{" + record) if found else None


def last_update(words):
    """The number of updates of a run, as a string; None if its length is given in epochs."""
    return words[words.index("--max-update") + 1] if "--max-update" in words else None


def has_ended(folder, words):
    """Whether a run has finished, even if it was killed before this was recorded.

    fairseq saves its last checkpoint, then writes the line of the epoch to train.log.
    """
    log, last = folder / "train.log", last_update(words)
    if not last or not log.is_file() or not (folder / "checkpoints" / "checkpoint_last.pt").is_file():
        return False
    text = log.read_text(encoding="utf-8", errors="replace")
    return any(record["train_num_updates"] == last for record in records(text, "train"))


def restore(folder, words):
    """Repair the checkpoints of a system after a kill.

    fairseq writes a checkpoint under another name and renames it, but copies it to checkpoint_best.pt and
    checkpoint_last.pt, which may be cut off. Started again after its last checkpoint, before its end, it would train
    for one more update: such a run goes back to the previous checkpoint.
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
    last = last_update(words)
    if last not in by_updates:
        return
    if not has_ended(folder, words):
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
