#!/usr/bin/env bash
# Score systems against each other: BLEU, chrF++, signatures, and significance against the baseline.
#
#   score.sh en-de|en-fr base|big NAME...
#
# The baseline is sinusoidal where it is among the names, else the first.
# SET=...    test (default), valid, or joined
# SEED=N     of the run (default: 1)
# JSON=FILE  where everything is written; a path from $WORK/$SCALE (default: PAIR/SIZE/scores-SET-seedN.json)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
