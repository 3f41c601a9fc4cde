"""Commands in forks: what they must not inherit."""

import json

from tests.support import preloaded


def test_a_fork_has_the_given_environment_alone(tmp_path):
    """The shell that the tests were started from may have settings of the compatibility layer."""
    script = tmp_path / "environment.py"
    script.write_text("import json, os; print(json.dumps(dict(os.environ)))", encoding="utf-8")
    status, printed, errors = preloaded.run([str(script)], {"ONLY": "this"}, tmp_path, None, 60)
    assert status == 0, errors
    assert json.loads(printed) == {"ONLY": "this"}
