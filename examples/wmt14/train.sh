#!/usr/bin/env bash
# Train one system; run it again to continue from its last checkpoint.
#
#   train.sh ENCODING en-de|en-fr base|big [fairseq-train options]
#
# NAME=... names the system where one encoding is trained with several options (default: the encoding's name).
# GPUS=N trains with N processes on this machine (default: 1); the paper's batch is kept by dividing --update-freq.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

[ $# -ge 3 ] || fail "give ENCODING, en-de or en-fr, and base or big"
encoding=$1 pair=$2 size=$3
shift 3
check_pair "$pair"
GPUS=${GPUS:-1}
architecture=transformer_${encoding//-/_}

# Sizes, batch and schedule of each scale. The paper's batch is 8 x 4096 tokens.
case $SCALE-$size in
    paper-base)
        model=(--arch "${architecture}_wmt_en_de" --dropout 0.1)
        ;;
    paper-big)
        model=(--arch "${architecture}_wmt_en_de_big" --dropout 0.3 --attention-dropout 0.1)
        [ "$pair" = en-de ] || model=(--arch "${architecture}_wmt_en_de_big" --dropout 0.1)
        ;;
    small-base | smoke-base) layers=2 width=128 feed_forward=512 heads=4 ;;
    small-big | smoke-big) layers=3 width=192 feed_forward=768 heads=4 ;;
    *) fail "size $size is not one of base, big" ;;
esac
case $SCALE in
    paper)
        ((8 % GPUS == 0)) || fail "GPUS=$GPUS does not divide the paper's 8 batches per update; give 1, 2, 4 or 8"
        training=(--fp16 --max-tokens 4096 --update-freq $((8 / GPUS)))
        training+=(--lr 7e-4 --warmup-updates 4000 --warmup-init-lr 1e-7 --adam-eps 1e-9)
        training+=(--max-update 150000 --patience 30 --save-interval-updates 1000)
        ;;
    *)
        model=(--arch "${architecture}_iwslt_de_en" --dropout 0.1)
        for side in encoder decoder; do
            model+=("--$side-layers" $layers "--$side-embed-dim" $width)
            model+=("--$side-ffn-embed-dim" $feed_forward "--$side-attention-heads" $heads)
        done
        training=(--max-tokens 2048 --lr 5e-3 --warmup-updates 800 --clip-norm 1.0 --num-workers 0)
        training+=(--max-epoch 12 --save-interval-updates 200)
        ;;
esac

data=$WORK/$SCALE/$pair/binary
folder=$(system_folder "${NAME:-$encoding}" "$pair" "$size")
launcher=(fairseq-train)
[ "$GPUS" = 1 ] || launcher=(torchrun --nproc_per_node "$GPUS" --no-python fairseq-train)

[ "$DRY_RUN" = 1 ] || mkdir -p "$folder"
run "${launcher[@]}" "$data" --source-lang "${pair%-*}" --target-lang "${pair#*-}" --user-dir fairseq_posenc \
    "${model[@]}" --share-all-embeddings \
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
    --optimizer adam --adam-betas '(0.9, 0.98)' --lr-scheduler inverse_sqrt "${training[@]}" --seed "$SEED" \
    --keep-interval-updates 5 --no-epoch-checkpoints --save-dir "$folder/checkpoints" \
    --log-format json --no-progress-bar --log-file "$folder/train.log" "$@"
