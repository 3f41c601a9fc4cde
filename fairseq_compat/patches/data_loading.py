"""The thread that reads batches in advance."""

import atexit
import threading
import time
import weakref

from fairseq_compat.registry import patch

#: The most that a process waits for the batches that are being made, in seconds.
WAIT = 10


@patch(
    "data_thread_at_exit",
    "fairseq.data.iterators",
    fault="--max-update within an epoch: at the end of a good run, now and then: terminate called without an active "
    "exception",
    since="fairseq itself, whose thread still makes batches while Python ends",
)
def data_thread_at_exit(module):
    """Let the thread finish its batch, and make no more, before Python ends."""
    stopping, threads = threading.Event(), weakref.WeakSet()

    def until_the_end(source):
        for item in source:
            yield item
            if stopping.is_set():
                return

    class BackgroundConsumer(module.BackgroundConsumer):
        def __init__(self, queue, source, *args, **options):
            super().__init__(queue, until_the_end(source), *args, **options)
            threads.add(self)

    def finish():
        stopping.set()
        deadline = time.monotonic() + WAIT
        for thread in list(threads):
            # One that waits for room in its queue makes nothing, and never will.
            while thread.is_alive() and not thread._queue.full() and time.monotonic() < deadline:
                thread.join(0.05)

    atexit.register(finish)
    module.BackgroundConsumer = BackgroundConsumer
