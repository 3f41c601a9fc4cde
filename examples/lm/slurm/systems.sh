#!/usr/bin/env bash
# Train the systems of a table or figure, each as one task of a SLURM array. Submit it from the root of the repository:
#
#   sbatch --array=1-7 --gpus-per-node=1 examples/lm/slurm/systems.sh sandwich-table3
#   sbatch --array=1-4 --gpus-per-node=8 examples/lm/slurm/systems.sh lex-table2
#
# There is one task per system, with all its seeds, on one machine. Prepare the corpus first (prepare.sh). After all
# tasks, reproduce.sh finds the systems trained, evaluates them and makes the table.
#
#SBATCH --job-name=lm
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=4-00:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%A-%a.log
set -euo pipefail

cd "${SLURM_SUBMIT_DIR:?is not set: submit this script with sbatch}"
[ -f examples/common/slurm.sh ] || { echo "error: $PWD is not the root of the repository; submit there" >&2; exit 2; }
source examples/common/slurm.sh
exec examples/lm/reproduce.sh "${1:?give the name of a table or figure, such as sandwich-table3}" \
    --task "${SLURM_ARRAY_TASK_ID:?is not set: submit this script with --array=1-N for N systems}"
