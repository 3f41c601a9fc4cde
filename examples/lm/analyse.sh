#!/usr/bin/env bash
# Attention resolution or receptive field of trained systems.
#
#   analyse.sh resolution|receptive-field xpos|sandwich|adaptive NAME,NAME,.. [options of the command fairseq-posenc ..]
#
# The second word is the PAPER that the systems were trained with. Default lengths: the training length and twice it for
# the resolution (Sun et al. 2023), four times it for the receptive field (Chi et al. 2023). Options that follow replace
# them: --patterns full,blockwise:1024, --lengths, --texts, --segments, --json, ...
#
# SIZE, SEEDS, TEXT, QUIET and DEVICE are those of evaluate.sh.
#
# Leaves $WORK/$SCALE/CORPUS/results/cells/ANALYSIS-PAPER-SIZE-TEXT.json, or what --json names.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
