#!/usr/bin/env bash
# Attention resolution or receptive field of trained systems.
#
#   analyse.sh resolution|receptive-field xpos|sandwich|adaptive NAME,NAME,.. [options of the command fairseq-posenc ..]
#
# The second argument is the PAPER whose settings the systems were trained with. The default lengths are 1 and 2 times
# the training length for the resolution (Sun et al. 2023), and 4 times for the receptive field (Chi et al. 2023).
# Options replace the defaults: --patterns full,blockwise:1024, --lengths, --texts, --segments, --json, ...
#
# SIZE, SEEDS, TEXT, QUIET and DEVICE are those of evaluate.sh.
#
# Writes $WORK/$SCALE/CORPUS/results/cells/ANALYSIS-PAPER-SIZE-TEXT.json, or the file of --json.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
