#!/usr/bin/env bash
# Train one language model; run it again to resume from its last checkpoint.
#
#   train.sh ENCODING tiny|base|gpt2_medium|wiki103 [fairseq-train options]
#
# fairseq-train also has the options of encodings, and --attention-pattern full|window:W|blockwise:L.
#
# PAPER=...  paper whose settings are used: xpos (default for gpt2_medium), sandwich (base and tiny), or adaptive (for
#            wiki103: fairseq's own settings). At SCALE=small and smoke it selects only the length of training samples
# NAME=...   name of the system, if one encoding is trained with several options (default: the encoding's name)
# SEED=N     seed of the run (default: 1)
# GPUS=N     processes on this machine, one per GPU (default: 1); --update-freq is adapted to keep the paper's batch
# BATCH=N    samples that one GPU processes at a time, at SCALE=paper (default: xpos 8, sandwich 32, adaptive 1)
# NNODES=N   number of machines (default: 1). Run the same command on each of them, with NODE_RANK=0..N-1, MASTER_ADDR
#            (address of the first one), MASTER_PORT (default: 29500) and a shared folder $WORK; slurm/train.sh does this
# QUIET=1    print one line per validation instead of fairseq's log
#
# Writes $WORK/$SCALE/CORPUS/PAPER-SIZE/NAME/seedSEED/{checkpoints,train.log,command}.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
