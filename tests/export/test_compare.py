"""The comparison of exported models with fairseq-generate."""

import json

import pytest

from tests.support.export import write_model


def test_all_programs_find_the_same(reversal_data, tmp_path, capsys):
    pytest.importorskip("ctranslate2")
    from examples.export.compare import main

    checkpoint = write_model(tmp_path / "model.pt", reversal_data, "rope", updates=150)
    out = tmp_path / "speed.json"
    main([str(reversal_data), f"rope={checkpoint}", "--sentences", "15", "--rounds", "1", "--json", str(out)])
    (system,) = json.loads(out.read_text())["systems"]
    assert system["programs"]["ctranslate2"]["same_hypotheses"] == 15
    # After int8, the model in memory is what it was.
    assert system["programs"]["fairseq"]["same_hypotheses"] == 15
    assert "rope" in capsys.readouterr().out
