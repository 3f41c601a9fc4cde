#!/usr/bin/env bash
# Make a test set of ever longer sentences: 1, 2, .. 8 consecutive test sentences joined into one.
#
#   joined.sh en-de|en-fr
#
# Writes $WORK/$SCALE/PAIR/joined/{raw,binary}, with the subwords and dictionaries of the training data. generate.sh and
# score.sh use it with SET=joined.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
