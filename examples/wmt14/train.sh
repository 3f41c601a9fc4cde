#!/usr/bin/env bash
# Train one system; run it again to resume from its last checkpoint.
#
#   train.sh ENCODING en-de|en-fr base|big [fairseq-train options]
#
# NAME=...   name of the system, if one encoding is trained with several options (default: the encoding's name)
# SEED=N     seed of the run (default: 1)
# GPUS=N     processes on this machine, one per GPU (default: 1); --update-freq becomes 8 / (GPUS x NNODES), to keep the
#            paper's batch
# NNODES=N   number of machines (default: 1). Run the same command on each of them, with NODE_RANK=0..N-1, MASTER_ADDR
#            (address of the first one), MASTER_PORT (default: 29500) and a shared folder $WORK; slurm/train.sh does this
# QUIET=1    print one line per validation instead of fairseq's log
#
# Writes $WORK/$SCALE/PAIR/SIZE/NAME/seedSEED/{checkpoints,train.log,command}.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
