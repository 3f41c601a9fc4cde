#!/usr/bin/env bash
# Train one language model; run it again to continue from its last checkpoint.
#
#   train.sh ENCODING tiny|base|gpt2_medium|wiki103 [fairseq-train options]
#
# Options of encodings and --attention-pattern full|window:W|blockwise:L are options of fairseq-train.
#
# PAPER=...  whose settings: xpos (default of gpt2_medium), sandwich (of base and tiny) or adaptive (of wiki103: fairseq's
#            own for WikiText-103). SCALE=small and smoke have one schedule for all, and a length of samples by PAPER
# NAME=...   names the system where one encoding is trained with several options (default: the encoding's name)
# SEED=N     of the run (default: 1)
# GPUS=N     processes on this machine, one per GPU (default: 1). The paper's batch is kept: --update-freq follows
# BATCH=N    samples that a GPU takes at a time at SCALE=paper (default: xpos 8, sandwich 32, adaptive 1)
# NNODES=N   machines (default: 1); then run the same command on each, with NODE_RANK=0..N-1 and MASTER_ADDR=the first
#            one's address; MASTER_PORT (default: 29500). The folder $WORK must be the same on all. slurm/train.sh does it
# QUIET=1    show one line for each validation instead of fairseq's log
#
# Leaves $WORK/$SCALE/CORPUS/PAPER-SIZE/NAME/seedSEED/{checkpoints,train.log,command}.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
