#!/usr/bin/env bash
# Train the small models of docs/export.md, with 2 layers of width 128, on one core. Finished models are kept.
#
#   examples/export/train.sh DATA OUT [SYSTEM]...
#
# DATA     folder written by fairseq-preprocess
# OUT      folder for OUT/SYSTEM/checkpoint_last.pt
# SYSTEM   default: all translation models; those of language models begin with lm- and read DATA as --task
#          language_modeling does
#
# UPDATES=N  of the training (default: 500)
# FROM=CKPT  begin with the layers of this checkpoint, of any encoding
# VENV       the environment that scripts/setup.sh made (default: .venv in the repository)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
export OMP_NUM_THREADS=1

sizes() {
    local side
    for side in "$@"; do
        printf '%s\n' "--$side-layers" 2 "--$side-embed-dim" 128 "--$side-ffn-embed-dim" 512 "--$side-attention-heads" 4
    done
}

pre_norm=(--encoder-normalize-before --decoder-normalize-before)

# The architecture and the flags of a system.
model() {
    case $1 in
        lm-*) echo "transformer_lm_${1#lm-}_tiny" --share-decoder-input-output-embed ;;
        sinusoidal-pre-norm) echo transformer_sinusoidal_iwslt_de_en "${pre_norm[@]}" ;;
        learned-norm) echo transformer_learned_iwslt_de_en --layernorm-embedding ;;
        learned-pre-norm) echo transformer_learned_iwslt_de_en --layernorm-embedding "${pre_norm[@]}" ;;
        sinusoidal-alibi) echo transformer_sinusoidal_iwslt_de_en --decoder-position-encoding alibi ;;
        *) echo "transformer_$1_iwslt_de_en" ;;
    esac
}

train() {
    local system=$1 flags
    read -ra flags <<<"$(model "$system")"
    if [[ $system == lm-* ]]; then
        mapfile -t -O "${#flags[@]}" flags < <(sizes decoder)
        flags+=(--task language_modeling --sample-break-mode eos --criterion cross_entropy)
    else
        mapfile -t -O "${#flags[@]}" flags < <(sizes encoder decoder)
        flags+=(--share-all-embeddings --criterion label_smoothed_cross_entropy --label-smoothing 0.1)
    fi
    [[ -z ${FROM:-} ]] || flags+=(--finetune-from-model "$FROM")
    fairseq-train "$data" --user-dir "$root/fairseq_posenc" --arch "${flags[@]}" --dropout 0.1 \
        --optimizer fused_adam --adam-betas '(0.9, 0.98)' --lr 5e-3 --lr-scheduler inverse_sqrt --warmup-updates 150 \
        --clip-norm 1.0 --max-tokens 1024 --max-update "${UPDATES:-500}" --no-epoch-checkpoints --seed 1 --num-workers 0 \
        --log-interval 50 --disable-validation --save-dir "$out/$system"
}

data=${1:?DATA is missing; see --help} out=${2:?OUT is missing; see --help}
shift 2
if [[ $# == 0 ]]; then
    set -- sinusoidal sinusoidal-pre-norm learned learned-norm learned-pre-norm shaw t5 rope sinusoidal-alibi none
fi
for system in "$@"; do
    [[ -e $out/$system/checkpoint_last.pt ]] || train "$system"
done
