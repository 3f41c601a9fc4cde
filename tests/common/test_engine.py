"""The engine: what is done is not done again, half-finished work does not count, a killed run leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from examples.common.checkpoints import has_ended, restore
from examples.common.commands import Command, CommandFailed
from examples.common.engine import perform
from examples.common.files import ROOT
from examples.common.locks import Lock
from examples.common.runner import Runner
from examples.common.step import Step
from examples.common.training import Processes, Training
from fairseq_posenc.errors import InputError


def step(folder, name, *words, reads=(), fingerprint=None, output=None):
    """A step that appends its name to the file ``done`` and writes a file of its name."""
    script = 'echo "$1" >> done; echo "$*" > "$1"'
    output = {"output": folder / output} if output else {}
    commands = [Command(["sh", "-c", script, "sh", name, *words], folder), *([Command(["true"], **output)])]
    inputs = tuple(folder / other for other in reads)
    return Step(name, commands, folder / "steps" / name, inputs, (folder / name,), fingerprint)


def done(folder):
    """The names of the steps that were done since this was last asked."""
    path = folder / "done"
    names = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return names


def test_a_step_is_done_again_only_when_it_or_a_step_before_has_changed(tmp_path):
    def chain(word="x", text="1"):
        second = step(tmp_path, "b", reads=["a"], fingerprint=lambda: text)
        return [step(tmp_path, "a", word), second, step(tmp_path, "c")]

    for arguments, expected in [((), ["a", "b", "c"]), ((), []), (("y",), ["a", "b"]), (("y", "2"), ["b"])]:
        perform(chain(*arguments), "test")
        assert done(tmp_path) == expected


def test_the_marks_of_what_comes_after_are_gone_before_a_step_begins(tmp_path):
    """A run that ends between the two would otherwise leave what comes after looking done."""
    last = Step("b", [Command(["true"])], tmp_path / "steps" / "b", (tmp_path / "a",))
    perform([step(tmp_path, "a", "x"), last], "test")
    assert (tmp_path / "steps" / "b").exists()
    changed = Step("a", [Command(["test", "!", "-e", tmp_path / "steps" / "b"])], tmp_path / "steps" / "a")
    changed.outputs = (tmp_path / "a",)
    perform([changed, last], "test")


def test_a_step_whose_output_is_gone_is_done_again(tmp_path):
    perform([step(tmp_path, "a")], "test")
    (tmp_path / "a").unlink()
    perform([step(tmp_path, "a")], "test")
    assert done(tmp_path) == ["a", "a"] and (tmp_path / "a").exists()


def test_a_damaged_mark_does_not_count(tmp_path):
    perform([step(tmp_path, "a")], "test")
    mark = tmp_path / "steps" / "a"
    mark.write_text(mark.read_text()[:-5])
    perform([step(tmp_path, "a")], "test")
    assert done(tmp_path) == ["a", "a"]


def test_an_output_is_there_only_when_its_command_has_succeeded(tmp_path, capsys):
    (tmp_path / "out").write_text("old")
    words = ["sh", "-c", "echo half; echo why >&2; exit 3"]
    for quiet in (False, True):
        with pytest.raises(CommandFailed):
            perform([Step("a", [Command(words, output=tmp_path / "out")])], "test", quiet=quiet)
        assert (tmp_path / "out").read_text() == "old"
        assert f"test: error: sh failed; its output is {tmp_path}/out.partial" in capsys.readouterr().err


def test_a_failing_command_shows_the_end_of_its_messages(tmp_path, capsys):
    words = ["python", "-c", "[print('line', n) for n in range(99)]; raise SystemExit(3)"]
    with pytest.raises(CommandFailed):
        perform([Step("a", [Command(words, messages=tmp_path / "log")])], "test")
    error = capsys.readouterr().err
    assert f"line 98\ntest: error: python failed; its messages are in {tmp_path}/log\n" in error
    assert "line 2\n" not in error


def test_the_others_are_done_when_one_fails(tmp_path):
    failing = Step("b", [Command(["false"])], None, (), (tmp_path / "b",))
    with pytest.raises(CommandFailed):
        perform([failing, step(tmp_path, "c", reads=["b"]), step(tmp_path, "d")], "test")
    assert done(tmp_path) == ["d"]


def test_the_third_begins_when_one_of_two_has_ended(tmp_path):
    """The first waits for the third, up to a limit that is never reached."""
    wait = f"for _ in $(seq 600); do [ ! -e {tmp_path}/third ] || exit 0; sleep 0.1; done; exit 1"
    scripts = [wait, "true", f"touch {tmp_path}/third"]
    steps = [Step(str(number), [Command(["sh", "-c", script])]) for number, script in enumerate(scripts)]
    perform(steps, "test", jobs=2)


HOLDER = """
import sys
from pathlib import Path
from examples.common.commands import Command
from examples.common.engine import perform
from examples.common.locks import Lock
from examples.common.step import Step
folder = Path(sys.argv[1])
with Lock(folder):
    perform([Step("a", [Command(["sh", "-c", 'echo $$ > "$0"/pid; exec sleep 600', folder])])], "test")
"""


def test_a_killed_run_leaves_no_process_and_no_lock(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], env=environment)
    while not ((tmp_path / "pid").is_file() and (tmp_path / "pid").read_text().endswith("\n")):
        assert run.poll() is None
        time.sleep(0.02)
    with pytest.raises(InputError, match=rf"process {run.pid} on \S+ is working in {tmp_path}; wait"), Lock(tmp_path):
        pass
    run.send_signal(signal.SIGKILL)
    run.wait()
    with Lock(tmp_path):
        # Ended; who adopted it may not have taken notice yet.
        command = Path("/proc") / (tmp_path / "pid").read_text().strip() / "cmdline"
        assert not command.exists() or not command.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["pid"]


OTHER_RUN = """
import sys
from pathlib import Path
from examples.common.locks import Lock
folder = Path(sys.argv[1])
with Lock(folder, ".lock-0"):
    print("locked", flush=True)
    sys.stdin.readline()
    (folder / "checkpoints").mkdir()
    (folder / "finished").touch()
"""


@pytest.mark.parametrize("waits", [True, False])
def test_a_system_that_another_run_trains_is_waited_for_or_refused(waits, tmp_path, monkeypatch, capsys):
    """Waited for: it is trained once, by the other run."""
    trained = tmp_path / "trained twice"
    argv = ["touch", str(trained)]
    mine = Training("rope", tmp_path / "rope", argv, lambda: "settings", Processes(), waits=waits)
    run = subprocess.Popen(
        [sys.executable, "-c", OTHER_RUN, mine.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert run.stdout.readline() == "locked\n"
        if not waits:
            with pytest.raises(CommandFailed):
                perform([mine], "test")
            assert f"process {run.pid} on " in capsys.readouterr().err and not trained.exists()
            return

        def looked_again(self, seconds):
            run.communicate("end\n")

        monkeypatch.setattr(Runner, "pause", looked_again)
        perform([mine], "test")
        assert f"rope: waiting, because process {run.pid} on " in capsys.readouterr().out
        assert mine.is_done() and not trained.exists()
    finally:
        run.kill()


def checkpoint(folder, name, text, number):
    """A file that is as whole as a checkpoint."""
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("data", text)
    os.utime(folder / name, (number, number))


def content(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("data").decode()


def test_a_checkpoint_that_was_cut_off_is_replaced_by_the_newest_whole_one(tmp_path):
    folder = tmp_path / "checkpoints"
    for number, name in enumerate(("checkpoint_1_6.pt", "checkpoint_best.pt", "checkpoint_1_12.pt")):
        checkpoint(folder, name, name, number)
    (folder / "checkpoint_last.pt").write_bytes((folder / "checkpoint_1_12.pt").read_bytes()[:-9])
    restore(tmp_path, ["--max-update", "30"])
    assert content(folder / "checkpoint_last.pt") == "checkpoint_1_12.pt"
    assert content(folder / "checkpoint_best.pt") == "checkpoint_best.pt"


@pytest.mark.parametrize("logged", [True, False])
def test_a_training_after_its_last_checkpoint_has_ended_only_if_its_log_has(logged, tmp_path):
    folder = tmp_path / "checkpoints"
    for number, name in enumerate(("checkpoint_1_24.pt", "checkpoint_2_30.pt", "checkpoint_last.pt")):
        checkpoint(folder, name, name, number)
    (tmp_path / "train.log").write_text(
        '{"epoch": 1, "train_loss": "5.0", "train_num_updates": "%s"}\n' % (30 if logged else 15)
    )
    assert has_ended(tmp_path, ["--max-update", "30"]) == logged
    restore(tmp_path, ["--max-update", "30"])
    assert content(folder / "checkpoint_last.pt") == ("checkpoint_2_30.pt" if logged else "checkpoint_1_24.pt")
    assert (folder / "checkpoint_2_30.pt").exists() == logged
