#!/usr/bin/env bash
# A test set of ever longer source sentences: 1, 2, .. 8 consecutive test sentences joined to one.
#
#   joined.sh en-de|en-fr
#
# Leaves $WORK/$SCALE/PAIR/joined/{raw,binary}, with the subwords and the dictionary of the training; generate.sh and
# score.sh use it with SET=joined.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

[ $# = 1 ] || fail "give en-de or en-fr; -h explains"
pair=$1
check_pair "$pair"
need python fairseq-preprocess
check_binary "$pair"

data=$(pair_folder "$pair")
source_language=${pair%-*} target_language=${pair#*-}
if [ "$DRY_RUN" != 1 ]; then
    [ -f "$data/prepared/bpe.test.$source_language" ] ||
        fail "no subwords in $data/prepared/bpe.test.$source_language; run prepare.sh $pair again"
    inputs=$(cat "$data"/binary/dict.*.txt "$data"/raw/test.* "$data"/prepared/bpe.test.* | cksum)
fi
join() {
    run rm -rf "$data/joined"
    run mkdir -p "$data/joined/raw"
    local language
    for language in $source_language $target_language; do
        run python "$here/joined.py" "$data/raw/test.$language" "$data/joined/raw/test.$language"
        run python "$here/joined.py" "$data/prepared/bpe.test.$language" "$data/joined/bpe.test.$language"
    done
    logged "$data/joined/preprocess.log" \
        fairseq-preprocess --source-lang "$source_language" --target-lang "$target_language" \
        --srcdict "$data/binary/dict.$source_language.txt" --tgtdict "$data/binary/dict.$target_language.txt" \
        --testpref "$data/joined/bpe.test" --destdir "$data/joined/binary.partial"
    run mv "$data/joined/binary.partial" "$data/joined/binary"
}
marks=$data/prepared/steps
step "joined test sentences of $pair" join
