"""What the README says of the quickstart, by running it whole."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_word_order_decides(tmp_path):
    """Sinusoidal and PosNet are each more than 10 BLEU above no encoding, p < 0.05."""
    subprocess.run([ROOT / "scripts/quickstart.sh", "--output", tmp_path], check=True)
    logs = [tmp_path / name / "test/generate.log" for name in ("none", "sinusoidal", "posnet-embed")]
    command = [Path(sys.executable).parent / "fairseq-posenc", "score", "--ref", tmp_path / "raw/test.de"]
    command += ["--hyp", *logs, "--names", "none", "--names", "sinusoidal", "--names", "posnet-embed"]
    subprocess.run([*command, "--json", tmp_path / "against-none.json"], check=True)
    scores = json.loads((tmp_path / "against-none.json").read_text(encoding="utf-8"))
    bleu = {system["name"]: system["bleu"] for system in scores["systems"]}
    for name in ("sinusoidal", "posnet-embed"):
        assert bleu[name] > bleu["none"] + 10
        assert scores["significance"]["p_values"][name]["bleu"] < 0.05
