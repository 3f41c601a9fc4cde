#!/usr/bin/env bash
# From a fresh clone to a scored translation table: sets up if needed, then trains, translates and scores.
#
#   scripts/quickstart.sh [--corpus multi30k] [--encodings none,sinusoidal] ...     (--help lists the options)
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/scripts/setup.sh"
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
exec "${VENV:-$root/.venv}/bin/python" -m examples.quickstart.run "$@"
