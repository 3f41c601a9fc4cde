#!/usr/bin/env bash
# Translate with the average of a system's last checkpoints: beam 4, length penalty 0.6.
#
#   generate.sh NAME en-de|en-fr base|big
#
# NAME       of the system: its encoding, or the NAME that train.sh was given
# SET=...    test (default), valid, or joined (made by joined.sh: sentences joined to long ones)
# AVERAGE=N  checkpoints to average, the last of --save-interval-updates (default: 5)
# SEED=N     of the training (default: 1)
#
# Leaves average.pt and generate.log (generate-SET.log) in the system's folder; the D- lines of the log are the
# translations. Run it again: what is there is kept unless the training went on or an option has changed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

[ $# = 3 ] || fail "give NAME, en-de or en-fr, and base or big; -h explains"
name=$1 pair=$2 size=$3
check_pair "$pair"
check_size "$size"
AVERAGE=${AVERAGE:-5}
check_count AVERAGE "$AVERAGE"
need fairseq-generate fairseq-posenc

data=$(pair_folder "$pair")
folder=$(system_folder "$name" "$pair" "$size")
binary=$data/binary subset=$SET length=() maker=prepare.sh
if [ "$SET" = joined ]; then
    binary=$data/joined/binary subset=test maker=joined.sh
    # fairseq's own limit is 200 words.
    length=(--max-len-a 2 --max-len-b 100)
fi
if [ "$DRY_RUN" != 1 ]; then
    [ -f "$folder/checkpoints/checkpoint_last.pt" ] ||
        fail "no checkpoints in $folder/checkpoints; train it with train.sh, or name another SCALE, WORK or SEED"
    [ -d "$binary" ] || fail "no data in $binary; make it with $maker $pair"
fi

pieces=subword_nmt
[ ! -f "$data/prepared/sentencepiece.model" ] || pieces=sentencepiece
batch=(--max-tokens 8000)
[ "$SCALE" != paper ] || batch+=(--fp16)

average() {
    logged "$folder/average.log" fairseq-posenc average --inputs "$folder/checkpoints" \
        --num-update-checkpoints "$AVERAGE" --output "$folder/average.pt"
}
translate() {
    run_into "$(translations "$folder")" \
        fairseq-generate "$binary" --source-lang "${pair%-*}" --target-lang "${pair#*-}" --user-dir fairseq_posenc \
        --path "$folder/average.pt" --gen-subset "$subset" --beam 4 --lenpen 0.6 ${length[@]+"${length[@]}"} \
        "${batch[@]}" --post-process "$pieces" --tokenizer moses
}
marks=$folder/steps
[ "$DRY_RUN" = 1 ] || inputs="$AVERAGE checkpoints, $(cksum <"$folder/checkpoints/checkpoint_last.pt")"
step "average $name $pair seed $SEED" average
[ "$DRY_RUN" = 1 ] || inputs="$inputs, $(cat "$binary/$subset".*.bin | cksum)"
step "translate $SET $name $pair seed $SEED" translate
