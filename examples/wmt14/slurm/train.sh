#!/usr/bin/env bash
# Train one system on the machines of a SLURM job. Submit it from the root of the repository:
#
#   sbatch --nodes=2 --gpus-per-node=4 examples/wmt14/slurm/train.sh ENCODING en-de|en-fr base|big [options]
#
# The arguments and variables (SCALE, WORK, NAME, SEED) are those of train.sh. A total of 1, 2, 4 or 8 GPUs keeps the
# paper's batch. If a job was preempted or ran out of time, submit it again: it resumes from its last checkpoint.
#
#SBATCH --job-name=wmt14
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=2-00:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
set -euo pipefail

cd "${SLURM_SUBMIT_DIR:?is not set: submit this script with sbatch}"
[ -f examples/common/slurm.sh ] || { echo "error: $PWD is not the root of the repository; submit there" >&2; exit 2; }
source examples/common/slurm.sh
train wmt14 "$@"
