#!/usr/bin/env bash
# From the network, or from files that are there, to the data that fairseq trains on.
#
#   prepare.sh en-de|en-fr [--data DIR] [--corpus multi30k|newstest] [--bpe subword_nmt|sentencepiece] [--mirror URL]...
#
# --data DIR    files that are already there, read only. SCALE=paper: WMT14's archives by their names; SCALE=small: the
#               .gz files of Multi30k or newstest. Without it they are downloaded (newstest has no download)
# --corpus      of SCALE=small; the other scripts take it as CORPUS=newstest
# --bpe         subword_nmt (default): 40,000 joint merges at SCALE=paper, 4,000 at small; sentencepiece: as many pieces
# --mirror URL  SCALE=paper: tried before statmt.org, for example https://mirror/path or file:///folder; may be repeated
# WORKERS=N     processes for tokens and subwords (default: all cores)
#
# Leaves $WORK/$SCALE/PAIR/{raw,prepared,binary}. Run it again to continue: finished steps are skipped, and a changed
# option does again what depends on it.
set -euo pipefail
for word in "$@"; do
    # Before settings.sh, which checks the corpus against the scale.
    if [ "${option:-}" = --corpus ]; then export CORPUS=$word; fi
    option=$word
done
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

[ $# -ge 1 ] || fail "give en-de or en-fr; -h shows the options"
pair=$1 data='' bpe=subword_nmt mirrors=()
shift
check_pair "$pair"
while [ $# -gt 0 ]; do
    case $1 in
        --data | --corpus | --bpe | --mirror) [ $# -ge 2 ] || fail "$1 needs a value; -h shows the options" ;;
        *) fail "option $1 is not one of --data, --corpus, --bpe, --mirror" ;;
    esac
    case $1 in
        --data) data=$2 ;;
        --bpe) bpe=$2 ;;
        --mirror) mirrors+=(--mirror "$2") ;;
    esac
    shift 2
done
case $bpe in
    subword_nmt | sentencepiece) ;;
    *) fail "--bpe $bpe is not one of subword_nmt, sentencepiece" ;;
esac
[ -z "$data" ] || [ -d "$data" ] || fail "--data $data is not a folder"
[ ${#mirrors[@]} = 0 ] || [ "$SCALE" = paper ] || fail "--mirror is for SCALE=paper; give --data"
[ ${#mirrors[@]} = 0 ] || [ -z "$data" ] || fail "--mirror is for a download, --data for files on disk; give one of them"
need python fairseq-preprocess
WORKERS=${WORKERS:-$(getconf _NPROCESSORS_ONLN)}
check_count WORKERS "$WORKERS"

source_language=${pair%-*} target_language=${pair#*-}
folder=$(pair_folder "$pair")
raw=$folder/raw prepared=$folder/prepared
marks=$prepared/steps
case $SCALE in
    paper) subwords=40000 ;;
    small) subwords=4000 ;;
    smoke) subwords=500 ;;
esac

# ---- text --------------------------------------------------------------------------------------------------------
archives=${data:-$home/archives}
text() {
    if [ "$SCALE" = paper ]; then
        run python "$here/corpus/extract.py" "$pair" "$archives" "$raw"
    else
        run python "$here/corpus/small_text.py" "$CORPUS" "$pair" "$raw" ${data:+--data "$data"}
    fi
}

# ---- tokens, subwords, numbers -----------------------------------------------------------------------------------
tokens() { # FILE LANGUAGE
    run python "$here/corpus/moses.py" "$2" "$raw/$1.$2" "$prepared/tokenized.$1.$2" --workers "$WORKERS"
}
model=$prepared/bpe.codes
[ "$bpe" = subword_nmt ] || model=$prepared/sentencepiece.model
learn() {
    # Only one of the two stays: generate.sh sees by it how to join the pieces.
    run rm -f "$prepared/bpe.codes" "$prepared/sentencepiece.model"
    run python "$here/corpus/subwords.py" learn "$bpe" "$subwords" "$model" \
        "$prepared/tokenized.train.$source_language" "$prepared/tokenized.train.$target_language"
}
pieces() { # FILE LANGUAGE
    run python "$here/corpus/subwords.py" apply "$bpe" "$model" "$prepared/tokenized.$1.$2" "$prepared/bpe.$1.$2" \
        --workers "$WORKERS"
}
train=$prepared/bpe.train
clean() {
    run python "$here/corpus/clean.py" "$train" "$prepared/clean.train" "$source_language" "$target_language"
}
numbers() {
    run rm -rf "$folder/binary.partial"
    logged "$prepared/preprocess.log" fairseq-preprocess --source-lang "$source_language" \
        --target-lang "$target_language" --joined-dictionary \
        --trainpref "$train" --validpref "$prepared/bpe.valid" --testpref "$prepared/bpe.test" \
        --destdir "$folder/binary.partial" --workers "$WORKERS"
    run rm -rf "$folder/binary"
    run mv "$folder/binary.partial" "$folder/binary"
}

run mkdir -p "$prepared"
# What the text is made of, as text: other files mean other text.
if [ "$SCALE" = paper ]; then
    inputs=$(run python "$here/corpus/download.py" "$pair" "$archives" "$home/checksums.json" \
        ${data:+--no-download} ${mirrors[@]+"${mirrors[@]}"})
    [ "$DRY_RUN" != 1 ] || echo "$inputs"
elif [ -n "$data" ] && [ "$DRY_RUN" != 1 ]; then
    inputs=$(cat "$data"/*."$source_language".gz "$data"/*."$target_language".gz 2>/dev/null | cksum || true)
fi
step "text of $pair" text
inputs=
for split in train valid test; do
    for language in $source_language $target_language; do
        step "tokens of $split.$language" tokens "$split" "$language"
    done
done
step "$bpe" learn
for split in train valid test; do
    for language in $source_language $target_language; do
        step "subwords of $split.$language" pieces "$split" "$language"
    done
done
# Captions are short and well paired; they stay as they are, like in the quickstart.
if [ "$CORPUS" != multi30k ]; then
    step "cleaning" clean
    train=$prepared/clean.train
fi
step "binary data" numbers
