#!/usr/bin/env bash
# Train and translate the rows of a table, each as one task of a SLURM array. Submit it from the root of the repository:
#
#   sbatch --array=1-7 --gpus-per-node=8 examples/wmt14/slurm/rows.sh table1 en-de
#   sbatch --array=1-3 --gpus-per-node=8 examples/wmt14/slurm/rows.sh table2 en-de
#
# There is one task per row, on one machine. Prepare the data first (prepare.sh; for lengths and positions, joined.sh
# after it). After all tasks, reproduce.sh finds
# the systems done and only makes the table.
#
#SBATCH --job-name=wmt14
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=2-00:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%A-%a.log
set -euo pipefail

cd "${SLURM_SUBMIT_DIR:?is not set: submit this script with sbatch}"
[ -f examples/common/slurm.sh ] || { echo "error: $PWD is not the root of the repository; submit there" >&2; exit 2; }
source examples/common/slurm.sh
exec examples/wmt14/reproduce.sh "${1:?give the name of a table, such as table1, and en-de or en-fr}" \
    --pairs "${2:?give en-de or en-fr after the name of the table}" \
    --task "${SLURM_ARRAY_TASK_ID:?is not set: submit this script with --array=1-N for N rows}"
