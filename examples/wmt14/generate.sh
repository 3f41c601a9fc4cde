#!/usr/bin/env bash
# Translate with the average of a system's last checkpoints: beam 4, length penalty 0.6.
#
#   generate.sh NAME en-de|en-fr base|big
#
# NAME       name of the system: its encoding, or the NAME given to train.sh
# SET=...    test (default), valid, or joined (sentences that joined.sh has joined into long ones)
# AVERAGE=N  average the last N checkpoints of --save-interval-updates (default: 5)
# SEED=N     seed of the run (default: 1)
#
# Writes average.pt and generate.log (generate-SET.log) to the system's folder; the D- lines of the log are the
# translations. If you run it again, it repeats a step only if the checkpoints, the data or an option have changed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
