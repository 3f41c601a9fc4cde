#!/usr/bin/env bash
# Train one system; run it again to continue from its last checkpoint.
#
#   train.sh ENCODING en-de|en-fr base|big [fairseq-train options]
#
# NAME=...   names the system where one encoding is trained with several options (default: the encoding's name)
# SEED=N     of the training (default: 1)
# GPUS=N     processes on this machine, one a GPU (default: 1). The paper's batch is kept: --update-freq becomes
#            8 / (GPUS x NNODES)
# NNODES=N   machines (default: 1); then run the same command on each, with NODE_RANK=0..N-1 and MASTER_ADDR=the first
#            one's address; MASTER_PORT (default: 29500). $WORK must be the same folder on all. slurm/train.sh does it
# QUIET=1    show one line for each validation instead of fairseq's log
#
# Leaves $WORK/$SCALE/PAIR/SIZE/NAME/seedSEED/{checkpoints,train.log,command}.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
source "$root/examples/common/training.sh"

[ $# -ge 3 ] || fail "give ENCODING, en-de or en-fr, and base or big; -h explains"
encoding=$1 pair=$2 size=$3
shift 3
check_pair "$pair"
check_size "$size"
need fairseq-train
check_encodings "$encoding"
check_binary "$pair"
architecture=transformer_${encoding//-/_}

# ---- sizes, batch and schedule of each scale ---------------------------------------------------------------------
case $SCALE-$size in
    paper-base)
        model=(--arch "${architecture}_wmt_en_de" --dropout 0.1)
        ;;
    paper-big)
        model=(--arch "${architecture}_wmt_en_de_big" --attention-dropout 0.1)
        if [ "$pair" = en-de ]; then model+=(--dropout 0.3); else model+=(--dropout 0.1); fi
        ;;
    small-base) layers=2 width=128 feed_forward=512 heads=4 ;;
    small-big) layers=3 width=192 feed_forward=768 heads=4 ;;
    smoke-base) layers=1 width=32 feed_forward=64 heads=2 ;;
    smoke-big) layers=2 width=48 feed_forward=96 heads=2 ;;
esac
if [ "$SCALE" = paper ]; then
    # The paper's batch is 8 x 4096 tokens.
    ((8 % processes == 0)) || fail "GPUS x NNODES = $processes does not divide the 8 batches of an update"
    # Without --distributed-world-size fairseq would take every GPU that it sees.
    batch=(--max-tokens 4096 --update-freq $((8 / processes)) --distributed-world-size "$processes")
    training=(--fp16 --lr 7e-4 --warmup-updates 4000 --warmup-init-lr 1e-7 --adam-eps 1e-9)
    training+=(--max-update 150000 --patience 30 --save-interval-updates 1000)
else
    check_one_process
    model=(--arch "${architecture}_iwslt_de_en" --dropout 0.1)
    for side in encoder decoder; do
        model+=("--$side-layers" "$layers" "--$side-embed-dim" "$width")
        model+=("--$side-ffn-embed-dim" "$feed_forward" "--$side-attention-heads" "$heads")
    done
    if [ "$SCALE" = small ]; then
        batch=(--max-tokens 2048)
        training=(--lr 5e-3 --warmup-updates 800 --clip-norm 1.0 --num-workers 0)
        training+=(--max-epoch 12 --save-interval-updates 200)
    else
        batch=(--max-tokens 1024)
        training=(--lr 5e-3 --warmup-updates 10 --clip-norm 1.0 --num-workers 0)
        training+=(--max-update 30 --save-interval-updates 6)
    fi
fi
training+=(--seed "$SEED" "$@")
set_launcher

name=${NAME:-$encoding}
folder=$(system_folder "$name" "$pair" "$size")
train() {
    run "${launcher[@]}" "$(pair_folder "$pair")/binary" --source-lang "${pair%-*}" --target-lang "${pair#*-}" \
        --user-dir fairseq_posenc "${model[@]}" --share-all-embeddings \
        --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
        --optimizer adam --adam-betas '(0.9, 0.98)' --lr-scheduler inverse_sqrt "${batch[@]}" "${training[@]}" \
        --keep-interval-updates 5 --no-epoch-checkpoints --save-dir "$folder/checkpoints" \
        --log-format json --no-progress-bar --log-file "$folder/train.log"
}
# What makes the model: its words and settings.
made_of=
[ "$DRY_RUN" = 1 ] || made_of=$(
    shown "${model[@]}" "${training[@]}"
    cat "$(pair_folder "$pair")"/binary/dict.*.txt | cksum
)
train_once "$name $pair $size seed $SEED" "$folder" "$made_of"
