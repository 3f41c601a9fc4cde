#!/usr/bin/env bash
# Set up if needed, lint, and run the tests. Arguments go to pytest:
#   scripts/test.sh                       everything but the slow tests
#   scripts/test.sh --slow                the slow tests too
#   scripts/test.sh tests/encodings -x    any pytest arguments (-n 0: in one process)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
scripts/setup.sh
bin=${VENV:-$root/.venv}/bin

# Exports are tested where the packages that read them can be had.
"$bin/python" -c "import ctranslate2, transformers" 2>/dev/null ||
    "$bin/python" -m pip install -q -c "${bin%/bin}/fairseq-posenc-constraints.txt" -e ".[ctranslate2,huggingface]" ||
    echo "test.sh: CTranslate2 and transformers cannot be installed; their tests are left out" >&2

# The tests run several processes at a time, which should not compete for the cores.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

marker="not slow"
if [ "${1:-}" = --slow ]; then
    marker=""
    shift
fi
scripts/lint.sh
# One process per core, but not more than four, because of their memory. The tests of a file share trained models, so
# one process runs them all; tests/conftest.py orders the files.
exec "$bin/python" -m pytest -m "$marker" --numprocesses auto --maxprocesses 4 \
    --dist loadfile --no-loadscope-reorder "$@"
