#!/usr/bin/env bash
# A test set of ever longer source sentences: 1, 2, .. 8 consecutive test sentences joined to one.
#
#   joined.sh en-de|en-fr
#
# Leaves $WORK/$SCALE/PAIR/joined/{raw,binary}, with the subwords and the dictionary of the training; generate.sh and
# score.sh use it with SET=joined.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
