#!/usr/bin/env bash
# Train and translate the rows of a table, each as one task of a SLURM array. Submit it from the root of the repository:
#
#   sbatch --array=1-7 --gpus-per-node=8 examples/wmt14/slurm/rows.sh table1 en-de
#   sbatch --array=1-3 --gpus-per-node=8 examples/wmt14/slurm/rows.sh table2 en-de
#
# One task per row of rows/TABLE.tsv, one machine per task. When all have ended, reproduce.sh makes the table and finds every
# system done.
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

stop() {
    echo "slurm/rows.sh: error: $*" >&2
    exit 2
}
cd "${SLURM_SUBMIT_DIR:?is not set: submit this script with sbatch}"
[ -x examples/wmt14/train.sh ] || stop "$PWD is not the root of the repository; submit from there"
[ $# = 2 ] || stop "give the name of a table, such as table1, and en-de or en-fr"
rows=examples/wmt14/rows/$1.tsv pair=$2 size=base
[ -f "$rows" ] || stop "there is no $rows"
[ "$1" != table2 ] || size=big
line=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$rows")
[ -n "$line" ] || stop "$rows has no row $SLURM_ARRAY_TASK_ID; give --array=1-$(($(wc -l <"$rows") - 1))"
IFS=$'\t' read -r name encoding options <<<"$line"
[ "$options" != - ] || options=
export GPUS=${SLURM_GPUS_ON_NODE:-1}
# The options of a row are words without spaces inside.
# shellcheck disable=SC2086
NAME=$name examples/wmt14/train.sh "$encoding" "$pair" "$size" $options
examples/wmt14/generate.sh "$name" "$pair" "$size"
