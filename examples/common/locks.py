"""Locks: two runs never work in the same folder at the same time."""

import fcntl
import os
import socket
import threading
import time
from pathlib import Path

from fairseq_posenc.errors import InputError

#: How long a run waits for the last processes of a killed run.
LOCK_SECONDS = 3


class Lock:
    """The lock file of a folder. The system releases it when the last process that holds it has ended or was killed."""

    held = {}  # {path: how often this process has acquired it}
    files = {}
    guard = threading.Lock()

    def __init__(self, folder, name=".lock"):
        self.folder, self.path = Path(folder), Path(folder) / name

    def __enter__(self):
        with Lock.guard:
            if self.path not in Lock.files:
                self.folder.mkdir(parents=True, exist_ok=True)
                Lock.files[self.path] = self.acquired()
            Lock.held[self.path] = Lock.held.get(self.path, 0) + 1
        return self

    def __exit__(self, *_):
        with Lock.guard:
            Lock.held[self.path] -= 1
            if not Lock.held[self.path]:
                # Removed before it is released: a waiting run sees that its file is no longer the one at this path.
                self.path.unlink(missing_ok=True)
                os.close(Lock.files.pop(self.path))

    def acquired(self):
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.exists(self.path) and os.path.samestat(os.fstat(file), os.stat(self.path)):
                    break
                os.close(file)
            except BlockingIOError:
                holder = os.pread(file, 200, 0).decode(errors="replace").strip() or "another process"
                os.close(file)
                if time.monotonic() > deadline:
                    raise InputError(f"{holder} is working in {self.folder}; wait until it has finished") from None
                time.sleep(0.1)
            except OSError:
                break  # a file system without locks
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        return file
