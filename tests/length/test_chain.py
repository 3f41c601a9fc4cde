"""The printed commands, run one after the other, lead to the table and the figures; slow: the script itself does."""

import importlib
import json
import subprocess
from pathlib import Path

import pytest

from examples.length.settings import DECODER_ONLY, ENCODER_DECODER
from fairseq_posenc import cli
from tests.support.commands import BIN, output
from tests.support.recipes import LENGTH, commands, run_script, table

FILES = ("{}.json", "{}.md", "{}.tsv", "{}-lengths.tsv", "{}-heat-map.png", "{}-curves.png", "{}-curves.pdf")


def execute(words, monkeypatch):
    """Run a printed command, in this process if it is Python code of ours."""
    if words[0] == "cd":
        monkeypatch.chdir(words[1])
    elif words[0] == "python":
        importlib.import_module(words[2]).main(words[3:])
    elif words[0] == "fairseq-posenc":
        assert cli.main(words[1:]) == 0
    elif words[0].startswith("fairseq-"):
        end = words.index(">") if ">" in words else len(words)
        printed = output(BIN / words[0], *words[1:end])
        if "--save-dir" in words:  # the script writes the command of each system next to its checkpoints
            Path(words[words.index("--save-dir") + 1]).with_name("command").write_text(" ".join(words))
        for file in words[end + 1 :]:
            with open(file, "w") as log:
                log.write(printed)
    elif words[0] not in ("source", "export"):
        subprocess.run(words, check=True)


@pytest.mark.parametrize("form", [ENCODER_DECODER, DECODER_ONLY])
def test_the_printed_commands_lead_to_the_table(form, tmp_path, monkeypatch):
    work = tmp_path / "work"
    chosen = (form, "--tasks", "replace", "--only", "posnet-embed")
    printed = run_script(LENGTH / "reproduce.sh", *chosen, SCALE="smoke", WORK=work, DRY_RUN=1)
    for words in commands(printed.stdout):
        execute(words, monkeypatch)
    folder = work / "smoke" / "results"
    assert all((folder / name.format(form)).stat().st_size > 300 for name in FILES)
    record = json.loads((folder / f"{form}.json").read_text())
    found = {row["band"]: row for row in record["summary"]}
    assert list(found) == ["seen", "+25%", "+50%", "+100%", "unseen", "further"]
    for row in found.values():
        assert 0 <= row["exact"] <= row["exact_oracle"] <= 100 and row["exact"] <= row["token"] <= 100
    assert found["seen"]["examples"] > 10
    (run,) = record["trainings"]
    assert run["updates"] == {ENCODER_DECODER: 40, DECODER_ONLY: 120}[form] and run["parameters"] > 1000


@pytest.mark.slow
@pytest.mark.parametrize("what", [line["name"] for line in table(LENGTH / "results.tsv")])
def test_every_result(what, tmp_path):
    done = run_script(LENGTH / "reproduce.sh", what, SCALE="smoke", WORK=tmp_path, JOBS=2)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    folder = tmp_path / "smoke" / "results"
    assert all((folder / name.format(what)).stat().st_size > 300 for name in FILES)
    again = run_script(LENGTH / "reproduce.sh", what, SCALE="smoke", WORK=tmp_path, JOBS=2)
    assert again.returncode == 0 and again.stdout.count("already done") == 2 * 2 + 6 * 3
