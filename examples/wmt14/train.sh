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

[ $# -ge 3 ] || fail "give ENCODING, en-de or en-fr, and base or big; -h explains"
encoding=$1 pair=$2 size=$3
shift 3
check_pair "$pair"
check_size "$size"
GPUS=${GPUS:-1} NNODES=${NNODES:-1} NODE_RANK=${NODE_RANK:-0} MASTER_PORT=${MASTER_PORT:-29500}
check_count GPUS "$GPUS"
check_count NNODES "$NNODES"
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
processes=$((GPUS * NNODES))
if [ "$SCALE" = paper ]; then
    # The paper's batch is 8 x 4096 tokens.
    ((8 % processes == 0)) || fail "GPUS x NNODES = $processes does not divide the 8 batches of an update"
    # Without --distributed-world-size fairseq would take every GPU that it sees.
    batch=(--max-tokens 4096 --update-freq $((8 / processes)) --distributed-world-size "$processes")
    training=(--fp16 --lr 7e-4 --warmup-updates 4000 --warmup-init-lr 1e-7 --adam-eps 1e-9)
    training+=(--max-update 150000 --patience 30 --save-interval-updates 1000)
else
    [ "$processes" = 1 ] || fail "SCALE=$SCALE trains in one process, more would make its batch larger; leave GPUS out"
    export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}"
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

# ---- where it runs -----------------------------------------------------------------------------------------------
launcher=(fairseq-train)
if [ "$NNODES" != 1 ]; then
    [ -n "${MASTER_ADDR:-}" ] || fail "NNODES=$NNODES needs MASTER_ADDR, the address of the first machine"
    case $NODE_RANK in
        *[!0-9]* | '') fail "NODE_RANK=$NODE_RANK is not a whole number" ;;
    esac
    [ "$NODE_RANK" -lt "$NNODES" ] || fail "NODE_RANK=$NODE_RANK is not below NNODES=$NNODES"
    launcher=(torchrun --nnodes "$NNODES" --node_rank "$NODE_RANK" --nproc_per_node "$GPUS")
    launcher+=(--master_addr "$MASTER_ADDR" --master_port "$MASTER_PORT" --no-python fairseq-train)
elif [ "$GPUS" != 1 ]; then
    launcher=(torchrun --standalone --nproc_per_node "$GPUS" --no-python fairseq-train)
fi
need "${launcher[0]}"

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
if [ "$DRY_RUN" = 1 ]; then
    run mkdir -p "$folder"
    train
    exit
fi

# ---- once, and never two kinds of training in one folder ---------------------------------------------------------
# What makes the model: its words and settings. Machines and places may change between a start and a continuation.
made_of=$(
    shown "${model[@]}" "${training[@]}"
    cat "$(pair_folder "$pair")"/binary/dict.*.txt | cksum
)
if [ -f "$folder/settings" ] && [ "$(cat "$folder/settings")" != "$made_of" ]; then
    fail "$folder was trained with other settings or words ($folder/settings); give NAME=..., or remove the folder"
fi
mkdir -p "$folder"
(DRY_RUN=1 && train) >"$folder/command"
if [ -f "$folder/finished" ]; then
    echo "train $name $pair $size seed $SEED: already done"
    exit
fi
running=$folder/running-$(hostname)-$NODE_RANK
if [ -f "$running" ] && kill -0 "$(cat "$running")" 2>/dev/null; then
    fail "process $(cat "$running") is training in $folder; wait for its end"
fi
echo $$ >"$running"
trap 'rm -f "$running"' EXIT
printf '%s\n' "$made_of" >"$folder/settings"

# fairseq's log, or one line a validation.
progress() {
    local line epoch loss updates
    while IFS= read -r line; do
        case $line in
            *'| INFO | valid | {'*) ;;
            *) continue ;;
        esac
        epoch=${line#*\"epoch\": } loss=${line#*\"valid_loss\": \"} updates=${line#*\"valid_num_updates\": \"}
        echo "$name $pair seed $SEED: epoch ${epoch%%,*}, update ${updates%%\"*}, validation loss ${loss%%\"*}"
    done
}
if [ "$QUIET" = 1 ]; then
    train 2>&1 | tee -a "$folder/train.out" | progress || {
        tail -n 20 "$folder/train.out" >&2
        echo "train.sh: error: training $name on $pair failed; its output is $folder/train.out" >&2
        exit 1
    }
else
    train
fi
touch "$folder/finished"
