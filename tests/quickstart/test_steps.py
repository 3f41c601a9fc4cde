"""Half-finished work never counts, and what fails says where its log is."""

import steps
from pytest import raises


def test_a_finished_folder_is_not_made_again_unless_the_configuration_changes(tmp_path):
    made = []

    def make(folder):
        made.append(folder)
        (folder / "text").write_text("done")
        return {"lines": len(made)}

    folder = tmp_path / "step"
    assert steps.build(folder, "step", {"seed": 1}, make)["lines"] == 1
    assert steps.build(folder, "step", {"seed": 1}, make)["lines"] == 1
    assert steps.build(folder, "step", {"seed": 2}, make)["lines"] == 2
    assert steps.finished(folder, {"seed": 1}) is None
    assert [path.name for path in tmp_path.iterdir()] == ["step"]


def test_an_interrupted_step_leaves_the_old_result_and_does_not_count(tmp_path):
    folder = tmp_path / "step"
    steps.build(folder, "step", {"seed": 1}, lambda to: (to / "text").write_text("old") and None)

    def fail(to):
        (to / "text").write_text("ha")
        raise RuntimeError("interrupted")

    with raises(RuntimeError, match="interrupted"):
        steps.build(folder, "step", {"seed": 2}, fail)
    assert (folder / "text").read_text() == "old"
    assert steps.finished(folder, {"seed": 2}) is None
    steps.build(folder, "step", {"seed": 2}, lambda to: (to / "text").write_text("new") and None)
    assert (folder / "text").read_text() == "new"


def test_a_damaged_stamp_does_not_count(tmp_path):
    steps.stamp(tmp_path, {"seed": 1}, 0.5)
    assert steps.finished(tmp_path, {"seed": 1})["seconds"] == 0.5
    stamp = tmp_path / steps.STAMP
    stamp.write_text(stamp.read_text()[:-5])
    assert steps.finished(tmp_path, {"seed": 1}) is None


def test_a_failing_command_shows_the_end_of_its_log(tmp_path):
    log = tmp_path / "a.log"
    code = "[print('line', n) for n in range(99)]; raise SystemExit(3)"
    with raises(steps.CommandFailed) as failure:
        steps.run(["python", "-c", code], log)
    message = str(failure.value)
    assert "line 98\npython failed with status 3" in message and str(log) in message
    assert "line 2\n" not in message
