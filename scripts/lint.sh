#!/usr/bin/env bash
# Check style, types and shell scripts, without running the code.
#
#   scripts/lint.sh        after scripts/setup.sh; VENV=DIR is the environment, as there
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
bin=${VENV:-$root/.venv}/bin

"$bin/ruff" check .
"$bin/ruff" format --check .
find .ci examples scripts \( -name '*.sh' -o -path .ci/run \) -print0 | xargs -0 "$bin/shellcheck"
"$bin/mypy"
