#!/usr/bin/env bash
# Score systems: BLEU, chrF++, signatures, and significance against the baseline.
#
#   score.sh en-de|en-fr base|big NAME...
#
# The baseline is sinusoidal if it is among the names, else the first name.
# SET=...    test (default), valid, or joined
# SEED=N     seed of the run (default: 1)
# JSON=FILE  output, relative to $WORK/$SCALE (default: PAIR/SIZE/scores-SET-seedN.json)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
