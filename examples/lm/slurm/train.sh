#!/usr/bin/env bash
# Train one language model on the machines of a SLURM job. Submit it from the root of the repository:
#
#   sbatch --nodes=2 --gpus-per-node=8 examples/lm/slurm/train.sh ENCODING tiny|base|gpt2_medium|wiki103 [options]
#
# The arguments and variables (SCALE, CORPUS, PAPER, WORK, NAME, SEED, BATCH) are those of train.sh. If a job was
# preempted or ran out of time, submit it again: it resumes from its last checkpoint.
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
[ -f examples/common/slurm.sh ] || { echo "error: $PWD is not the root of the repository; submit there" >&2; exit 2; }
source examples/common/slurm.sh
train lm "$@"
