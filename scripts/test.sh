#!/usr/bin/env bash
# Set up if needed, lint, and run the tests. Words after the name go to pytest:
#   scripts/test.sh                       everything but the slow tests
#   scripts/test.sh --slow                the slow tests too
#   scripts/test.sh tests/encodings -x    any pytest arguments (-n 0: in one process)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
scripts/setup.sh
bin=${VENV:-$root/.venv}/bin

# Tests start many short processes; with a thread each they leave the other cores to each other.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

marker="not slow"
if [ "${1:-}" = --slow ]; then
    marker=""
    shift
fi
scripts/lint.sh
# A process a core; more than four only fill the memory. The tests of a file share what they have trained.
exec "$bin/python" -m pytest -m "$marker" --numprocesses auto --maxprocesses 4 --dist loadfile "$@"
