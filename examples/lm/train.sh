#!/usr/bin/env bash
# Train one language model; run it again to continue from its last checkpoint.
#
#   train.sh ENCODING tiny|base|gpt2_medium|wiki103 [fairseq-train options]
#
# Options of encodings and --attention-pattern full|window:W|blockwise:L are options of fairseq-train.
#
# PAPER=...  whose settings: xpos (default of gpt2_medium), sandwich (of base and tiny) or adaptive (of wiki103: fairseq's
#            own for WikiText-103). SCALE=small and smoke have one schedule for all, and a length of samples by PAPER
# NAME=...   names the system where one encoding is trained with several options (default: the encoding's name)
# SEED=N     of the training (default: 1)
# GPUS=N     processes on this machine, one a GPU (default: 1). The paper's batch is kept: --update-freq follows
# BATCH=N    samples that a GPU takes at a time at SCALE=paper (default: xpos 8, sandwich 32, adaptive 1)
# NNODES=N   machines (default: 1); then run the same command on each, with NODE_RANK=0..N-1 and MASTER_ADDR=the first
#            one's address; MASTER_PORT (default: 29500). The folder $WORK must be the same on all. slurm/train.sh does it
# QUIET=1    show one line for each validation instead of fairseq's log
#
# Leaves $WORK/$SCALE/CORPUS/PAPER-SIZE/NAME/seedSEED/{checkpoints,train.log,command}.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
source "$root/examples/common/training.sh"

[ $# -ge 2 ] || fail "give ENCODING, and tiny, base, gpt2_medium or wiki103; -h explains"
encoding=$1 size=$2
shift 2
check_size "$size"
paper=$(paper_of_size "$size")
[ "$paper" != adaptive ] || [ "$SCALE" = paper ] || fail "PAPER=adaptive is for SCALE=paper; give xpos or sandwich"
need fairseq-train
check_encodings "$encoding"
check_binary

# ---- model, batch and schedule -----------------------------------------------------------------------------------
length=$(training_length "$paper")
model=(--arch "transformer_lm_${encoding//-/_}_$size" --tokens-per-sample "$length")
if [ "$size" = wiki103 ]; then criterion=adaptive_loss; else criterion=cross_entropy; fi
if [ "$SCALE" = paper ]; then
    case $paper in
        xpos)
            # Sun et al. 2023, Table 7.
            samples=512 batch=${BATCH:-8}
            training=(--fp16 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-6 --weight-decay 0.01)
            training+=(--clip-norm 2.0 --lr 3e-4 --lr-scheduler polynomial_decay --warmup-updates 20000)
            training+=(--total-num-update 50000 --max-update 50000)
            ;;
        sandwich)
            # Chi et al. 2023, Table 7; betas, clipping and schedule from the configuration that KERPLE's authors, the
            # same, published.
            samples=32 batch=${BATCH:-32}
            training=(--bf16 --optimizer adam --adam-betas '(0.9, 0.999)' --adam-eps 1e-8 --weight-decay 0.0)
            training+=(--clip-norm 1.0 --lr 6e-4 --lr-scheduler cosine --warmup-updates 500 --max-update 50000)
            ;;
        adaptive)
            # fairseq's examples/language_model/README.adaptive_inputs.md, which is for 8 GPUs.
            samples=24 batch=${BATCH:-1}
            training=(--fp16 --optimizer nag --clip-norm 0.1 --lr 1.0 --min-lr 0.0001 --lr-scheduler cosine)
            training+=(--t-mult 2 --lr-period-updates 270000 --lr-shrink 0.75 --warmup-updates 16000)
            training+=(--warmup-init-lr 1e-07 --stop-min-lr 1e-09 --max-update 286000 --ddp-backend legacy_ddp)
            ;;
    esac
    check_count BATCH "$batch"
    at_once=$((processes * batch))
    if ((at_once > samples)); then
        batch=$((samples / processes)) at_once=$((samples / processes * processes))
    fi
    ((at_once > 0 && samples % at_once == 0 && at_once % processes == 0)) ||
        fail "GPUS x NNODES = $processes with BATCH=${BATCH:-$batch} does not divide the $samples samples of an update; change one"
    # Without --distributed-world-size fairseq would take every GPU that it sees.
    batch=(--batch-size "$batch" --update-freq $((samples / at_once)) --distributed-world-size "$processes")
    training+=(--validate-interval-updates 5000 --save-interval-updates 5000)
else
    check_one_process
    training=(--optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --num-workers 0)
    training+=(--lr-scheduler polynomial_decay)
    if [ "$SCALE" = small ]; then
        batch=(--max-tokens 2048)
        training+=(--lr 2e-3 --warmup-updates 120 --total-num-update 1200 --max-update 1200)
        training+=(--validate-interval-updates 400 --save-interval-updates 400 --max-valid-steps 50)
    else
        batch=(--max-tokens 512)
        model+=(--decoder-layers 2 --decoder-embed-dim 32 --decoder-ffn-embed-dim 64 --decoder-attention-heads 2)
        training+=(--lr 5e-3 --warmup-updates 5 --total-num-update 20 --max-update 20)
        training+=(--validate-interval-updates 10 --save-interval-updates 10 --max-valid-steps 4)
    fi
fi
training+=(--seed "$SEED" "$@")
set_launcher

name=${NAME:-$encoding}
check_name NAME "$name"
folder=$(system_folder "$name" "$paper" "$size")
train() {
    # fairseq's thread that reads ahead may abort the process when a training ends within an epoch: no buffer, no thread.
    run "${launcher[@]}" "$home/binary" --task language_modeling --user-dir fairseq_posenc "${model[@]}" \
        --criterion $criterion --sample-break-mode none --data-buffer-size 0 "${batch[@]}" "${training[@]}" \
        --keep-interval-updates 1 --no-epoch-checkpoints --save-dir "$folder/checkpoints" \
        --log-format json --no-progress-bar --log-file "$folder/train.log"
}
made_of=
[ "$DRY_RUN" = 1 ] || made_of=$(
    shown "${model[@]}" "${training[@]}"
    cksum <"$home/binary/dict.txt"
)
train_once "$name $paper-$size seed $SEED" "$folder" "$made_of"
