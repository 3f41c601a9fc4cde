#!/usr/bin/env bash
# Make a test set of ever longer sentences, 1, 2, .. 8 consecutive test sentences joined into one, and a training text
# in which half of the sentences are joined in groups of 2, 3 or 4.
#
#   joined.sh en-de|en-fr
#
# Writes $WORK/$SCALE/PAIR/joined/{raw,binary} and PAIR/joined-training/binary, with the subwords and dictionaries of the
# training data. generate.sh and score.sh use the test set with SET=joined; reproduce.sh positions uses both.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
