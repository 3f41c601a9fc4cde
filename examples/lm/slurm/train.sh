#!/usr/bin/env bash
# Train one language model on the machines of a SLURM job. Submit it from the root of the repository:
#
#   sbatch --nodes=2 --gpus-per-node=8 examples/lm/slurm/train.sh ENCODING tiny|base|gpt2_medium|wiki103 [options]
#
# The arguments and variables (SCALE, CORPUS, PAPER, WORK, NAME, SEED, BATCH) are those of train.sh. A job that was
# preempted or ran out of time continues from its last checkpoint when it is submitted again.
#
#SBATCH --job-name=lm
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=4-00:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
set -euo pipefail

cd "${SLURM_SUBMIT_DIR:?is not set: submit this script with sbatch}"
if [ ! -x examples/lm/train.sh ]; then
    echo "slurm/train.sh: error: $PWD is not the root of the repository; submit from there" >&2
    exit 2
fi
source examples/common/slurm.sh
# SLURM_NODEID is known on each machine only.
# shellcheck disable=SC2016
exec srun bash -c 'NODE_RANK=$SLURM_NODEID exec examples/lm/train.sh "$@"' train.sh "$@"
