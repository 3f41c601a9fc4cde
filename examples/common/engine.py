"""Run the steps of a recipe in parallel, each of them once, or print them as plain commands.

A step has commands, inputs and outputs. It runs after the steps that write its inputs. When it is done, its commands
and the checksums of its inputs are written to a file, its mark. If they have changed in the next run, the step and
all steps that depend on it are repeated.

A run may end at any moment, by Ctrl-C or ``kill -9``: a mark is written last, a separate process ends the commands
that a killed run leaves behind, and a lock is released when the last process of its run ends.
"""

import contextlib
import signal
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from examples.common.commands import CommandFailed, quoted, say
from examples.common.files import ROOT
from examples.common.locks import Lock
from examples.common.runner import Runner
from fairseq_posenc.errors import InputError


def needs(steps):
    """{step: the steps that write its inputs}."""
    makers = {str(path): step for step in steps for path in step.outputs}
    return {
        step: {makers[str(path)] for path in step.inputs if str(path) in makers and makers[str(path)] is not step}
        for step in steps
    }


def dependents(step, before):
    """All steps that depend on this one, directly or indirectly."""
    found, left = set(), [step]
    while left:
        last = left.pop()
        new = [other for other in before if last in before[other] and other not in found]
        found.update(new)
        left += new
    return found


def show(steps):
    """Print the commands of all steps, ready to be pasted into a shell."""
    modules = False
    for step in steps:
        for line in step.lines():
            if line.startswith("python -m examples.") and not modules:
                modules = True
                say(f"export PYTHONPATH={quoted(ROOT)}")
            say(line)


def perform(steps, name, jobs=1, quiet=False):
    """Run the steps that are not done, up to ``jobs`` at a time.

    If a step fails, this is reported at once, and the steps that depend on it are skipped; all others still run.

    Args:
        name: name of the program, in front of error messages.

    Raises:
        CommandFailed: a step has failed; the message is a summary if several have.
        KeyboardInterrupt: the run was interrupted, and all commands have ended.
    """
    before, waiting, finished, failed, running = needs(steps), list(steps), set(), [], {}
    runner = Runner()
    pool = ThreadPoolExecutor(jobs)
    try:
        while waiting or running:
            for step in list(waiting):
                if before[step] & set(failed):
                    waiting.remove(step)
                    failed.append(step)
                elif before[step] <= finished and len(running) < jobs:
                    waiting.remove(step)
                    running[pool.submit(work, step, dependents(step, before), runner, quiet)] = step
            for future in wait(running, return_when=FIRST_COMPLETED)[0]:
                step = running.pop(future)
                try:
                    future.result()
                    finished.add(step)
                except (InputError, CommandFailed) as error:
                    failed.append(step)
                    step.error = error
                    if str(error):
                        print(f"{name}: error: {error}", file=sys.stderr, flush=True)
    except BaseException:
        before_cleaning = [signal.signal(number, signal.SIG_IGN) for number in interruptions()]
        runner.stop()
        pool.shutdown()
        for number, handler in zip(interruptions(), before_cleaning):
            signal.signal(number, handler)
        raise
    finally:
        pool.shutdown()
        runner.close()
    errors = [step for step in failed if hasattr(step, "error")]
    if errors:
        titles = "; ".join(step.title for step in errors)
        summary = f"failed: {titles}; the messages above say why; run the same command again to continue"
        status = max(getattr(step.error, "status", 2) for step in errors)
        raise CommandFailed(summary if len(errors) > 1 else "", status)


def interruptions():
    """The signals that end a run; none outside the main thread, where Python cannot handle them."""
    if threading.current_thread() is threading.main_thread():
        return (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return ()


def work(step, after, runner, quiet):
    """Run a step unless it is done. The steps ``after`` it, which depend on it, must then run again too."""
    if step.is_done():
        say(f"{step.name()}: already done")
        return
    with Lock(step.lock) if step.lock else contextlib.nullcontext():
        # Before this step runs: after a kill in between, they would still count as done.
        for other in [step, *after] if step.mark else ():
            other.forget()
        step.do(runner, quiet)
