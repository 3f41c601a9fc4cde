#!/usr/bin/env bash
# Train one system; run it again to continue from its last checkpoint.
#
#   train.sh ENCODING en-de|en-fr base|big [fairseq-train options]
#
# NAME=...   names the system where one encoding is trained with several options (default: the encoding's name)
# SEED=N     of the run (default: 1)
# GPUS=N     processes on this machine, one per GPU (default: 1). The paper's batch is kept: --update-freq becomes
#            8 / (GPUS x NNODES)
# NNODES=N   machines (default: 1); then run the same command on each, with NODE_RANK=0..N-1 and MASTER_ADDR=the first
#            one's address; MASTER_PORT (default: 29500). $WORK must be the same folder on all. slurm/train.sh does it
# QUIET=1    show one line for each validation instead of fairseq's log
#
# Leaves $WORK/$SCALE/PAIR/SIZE/NAME/seedSEED/{checkpoints,train.log,command}.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
