#!/usr/bin/env bash
# Attention resolution or receptive field of trained systems.
#
#   analyse.sh resolution|receptive-field xpos|sandwich|adaptive NAME,NAME,.. [options of the command fairseq-posenc ..]
#
# The second word is the PAPER that the systems were trained with. Default lengths: the training length and twice it for
# the resolution (Sun et al. 2023), four times it for the receptive field (Chi et al. 2023). Options that follow replace
# them: --patterns full,blockwise:1024, --lengths, --texts, --segments, --json, ...
#
# SIZE, SEEDS, TEXT, QUIET and DEVICE are those of evaluate.sh.
#
# Leaves $WORK/$SCALE/CORPUS/results/cells/ANALYSIS-PAPER-SIZE-TEXT.json, or what --json names.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
source "$here/trained.sh"

[ $# -ge 1 ] || fail "give resolution or receptive-field; -h explains"
analysis=$1
case $analysis in
    resolution | receptive-field) ;;
    *) fail "$analysis is not one of resolution, receptive-field" ;;
esac
shift
trained "$@"
shift 2
length=$(training_length "$paper")
options=("$@")
case $analysis in
    resolution)
        by_default --lengths "$length,$((2 * length))"
        by_default --texts "$texts"
        ;;
    receptive-field)
        by_default --lengths "$((4 * length))"
        by_default --segments "$gradients"
        ;;
esac
by_default --device "$DEVICE"
by_default --json "results/cells/$analysis-$paper-$size-$TEXT.json"
run cd "$home"
run_quietly fairseq-posenc "$analysis" "$data" --path "${paths[@]}" --names "${names[@]}" "${options[@]}"
