#!/usr/bin/env bash
# Translate with the average of a system's last checkpoints: beam 4, length penalty 0.6.
#
#   generate.sh NAME en-de|en-fr base|big
#
# NAME       of the system: its encoding, or the NAME that train.sh was given
# SET=...    test (default), valid, or joined (made by joined.sh: sentences joined to long ones)
# AVERAGE=N  checkpoints to average, the last of --save-interval-updates (default: 5)
# SEED=N     of the run (default: 1)
#
# Leaves average.pt and generate.log (generate-SET.log) in the system's folder; the D- lines of the log are the
# translations. Run it again: what is there is kept unless the training went on or an option has changed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
