#!/usr/bin/env bash
# Train the systems of a table or figure, each as one task of a SLURM array. Submit it from the root of the repository:
#
#   sbatch --array=1-7 --gpus-per-node=1 examples/lm/slurm/systems.sh sandwich-table3
#   sbatch --array=1-4 --gpus-per-node=8 examples/lm/slurm/systems.sh lex-table2
#
# One task per system, with all its seeds, one machine per task; the corpus must have been prepared. When all have ended,
# reproduce.sh makes the table and finds every system done.
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

stop() {
    echo "slurm/systems.sh: error: $*" >&2
    exit 2
}
cd "${SLURM_SUBMIT_DIR:?is not set: submit this script with sbatch}"
[ -x examples/lm/reproduce.sh ] || stop "$PWD is not the root of the repository; submit from there"
[ $# = 1 ] || stop "give the name of a table or figure, such as sandwich-table3"
rows=$(awk -F '\t' -v name="$1" 'NR > 1 && $1 == name { print $4 }' examples/lm/results.tsv)
[ -f "examples/lm/rows/$rows.tsv" ] || stop "$1 trains no systems; examples/lm/results.tsv has those that do"
systems=$(awk -F '\t' 'NR > 1 && !seen[$2]++ { print $2 }' "examples/lm/rows/$rows.tsv")
name=$(sed -n "${SLURM_ARRAY_TASK_ID}p" <<<"$systems")
[ -n "$name" ] || stop "$1 has no system $SLURM_ARRAY_TASK_ID; give --array=1-$(wc -l <<<"$systems")"
export GPUS=${SLURM_GPUS_ON_NODE:-1}
exec examples/lm/reproduce.sh "$1" --only "$name" --train
