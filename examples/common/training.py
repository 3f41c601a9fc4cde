"""A run of fairseq-train as a step, on any number of machines. A folder belongs to one run and its settings."""

import contextlib
import json
import shutil
import subprocess

from examples.common.checkpoints import has_ended, restore
from examples.common.commands import Command, CommandFailed, say, show_end, shown
from examples.common.files import cksum
from examples.common.locks import Lock
from examples.common.step import Step
from examples.common.variables import count, variable
from fairseq_posenc.errors import InputError

#: Variables of a process that trains on a CPU: glibc keeps memory for the next update. Otherwise it returns large
#: tensors to the system, which then gives them out page by page, filled with zeros, at every update.
KEEP_MEMORY = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), str(2**30))
#: After how many seconds a run that waits for another one looks again.
WAIT_SECONDS = 5


def one_gpu():
    """Variables of a process that uses one GPU at most: the first, unless CUDA_VISIBLE_DEVICES names others."""
    return {"CUDA_VISIBLE_DEVICES": variable("CUDA_VISIBLE_DEVICES", "0")}


def settings_of(options, files, origin=None):
    """The settings that determine a model, as text: options, files that it depends on, and its Origin."""
    text = f"{shown(options)}\n{cksum(*files)}"
    return f"{text}\n{origin}" if origin else text


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
        """Raise InputError unless there is one process, which the batch size of this scale is chosen for."""
        if self.number != 1:
            raise InputError(
                f"SCALE={scale} trains in one process, because more would enlarge the batch; leave GPUS out"
            )

    def launcher(self):
        """The beginning of the command, up to and including ``fairseq-train``."""
        if self.machines != 1:
            argv = ["torchrun", "--nnodes", self.machines, "--node_rank", self.rank, "--nproc_per_node", self.gpus]
            argv += ["--master_addr", self.address, "--master_port", self.port]
        elif self.gpus != 1:
            argv = ["torchrun", "--standalone", "--nproc_per_node", self.gpus]
        else:
            return ["fairseq-train"]
        return [*map(str, argv), "--no-python", "fairseq-train"]


class Training(Step):
    """A training run in a folder of its own: checkpoints/, train.log, command, settings and, at its end, finished.

    Args:
        title: name of the system.
        folder: Path of the system.
        argv: the command.
        fingerprint: function that returns, as text, the settings that determine the model. Machines and folders are not
            among them, because they may change when a run is resumed.
        processes: Processes.
        inputs: files and folders that it reads.
        environment: variables of the command.
        cwd: working directory of the command.
        replace: whether a run with other settings in this folder is replaced; otherwise it is an error.
        waits: whether to wait while another run trains in this folder; otherwise it is an error.
    """

    def __init__(
        self,
        title,
        folder,
        argv,
        fingerprint,
        processes,
        inputs=(),
        environment=None,
        cwd=None,
        replace=False,
        waits=False,
    ):
        super().__init__(
            title,
            [Command(["mkdir", "-p", folder]), Command(argv, cwd)],
            mark=folder / "finished",
            inputs=inputs,
            outputs=(folder / "checkpoints",),
            fingerprint=fingerprint,
            environment=environment or {},
        )
        self.folder, self.processes, self.replace, self.waits = folder, processes, replace, waits

    def name(self):
        return f"train {self.title}"

    def claim_folder(self):
        """Refuse or remove a run with other settings in this folder; record the command; return the settings."""
        settings, fingerprint = self.folder / "settings", self.fingerprint()
        known = settings.read_text(encoding="utf-8").rstrip("\n") if settings.is_file() else None
        if self.replace and known != fingerprint:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif known not in (None, fingerprint):
            raise InputError(
                f"{self.folder} was trained with other settings or another dictionary ({settings}); give NAME=..., "
                "or remove the folder"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "command").write_text(str(self.commands[1]) + "\n", encoding="utf-8")
        return fingerprint

    def is_done(self):
        self.claim_folder()
        return self.mark.is_file()

    def forget(self):
        """Keep a finished run: its settings say whether the folder contains the right model."""

    def do(self, runner, quiet):
        with contextlib.ExitStack() as stack:
            self.take_lock(stack, runner)
            (self.folder / "settings").write_text(self.claim_folder() + "\n", encoding="utf-8")
            if self.mark.is_file():  # of the run that this one has waited for
                return
            ended = has_ended(self.folder, self.argv())
            if self.processes.rank == "0":
                restore(self.folder, self.argv())
            if not ended and quiet:
                self.run_quietly(runner)
            elif not ended:
                self.commands[1].run(runner, quiet, self.environment)
            self.mark.touch()

    def take_lock(self, stack, runner):
        """Take the lock of this machine, since all machines work in this folder; ``stack`` releases it."""
        told = False
        while True:
            try:
                stack.enter_context(Lock(self.folder, f".lock-{self.processes.rank}"))
                return
            except InputError as error:
                if not self.waits:
                    raise
                if not told:
                    say(f"{self.title}: waiting, because {str(error).partition(';')[0]}")
                told = True
            runner.pause(WAIT_SECONDS)

    def argv(self):
        return self.commands[1].argv

    def run_quietly(self, runner):
        """Train with the output in train.out, and print one line per validation."""
        output = self.folder / "train.out"
        with open(output, "ab") as log:
            process = runner.start(
                self.argv(),
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
        _, found, record = line.partition("| INFO | valid | {")
        if not found:
            return
        with contextlib.suppress(LookupError, TypeError, ValueError):  # a line that another message has cut in two
            record = json.loads("{" + record)
            say(
                f"{self.title}: epoch {record['epoch']}, update {record['valid_num_updates']}, "
                f"validation loss {record['valid_loss']}"
            )
