#!/usr/bin/env bash
# From documents to the data that fairseq trains language models on.
#
#   prepare.sh stdlib                                 the source code of this Python's standard library: no download
#   prepare.sh wikitext-103 [--data DIR]              WikiText-103, articles cut into subwords
#   prepare.sh wikitext-103-words [--data DIR]        WikiText-103, its own words (for size wiki103)
#   prepare.sh documents --data DIR [--name NAME]     the text files in a folder, one a document; then CORPUS=NAME
#   prepare.sh text NAME --data DIR                   text to evaluate on, with the subwords of CORPUS; then TEXT=NAME
#
# --data DIR    WikiText: the folder of its archive; without it, it is downloaded. Documents: .txt files or others, .gz or
#               not; named train.*, valid.*, test.*, or divided here
# --name NAME   of the corpus (default: documents)
# --gpt2 DIR    cut into GPT-2's subwords; DIR has encoder.json and vocab.bpe. Without it sentencepiece learns subwords on
#               the training text: 50,000 at SCALE=paper, 4,000 at small, 500 at smoke
# --mirror URL  WikiText: tried before wikitext.smerity.com, for example file:///folder; may be repeated
# WORKERS=N     processes for subwords (default: all cores)
#
# Leaves $WORK/$SCALE/CORPUS/{raw,prepared,binary}. Run it again to continue: finished steps are skipped, and a changed
# option does again what depends on it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

[ $# -ge 1 ] || fail "give stdlib, wikitext-103, wikitext-103-words, documents or text; -h shows the options"
kind=$1 data='' name='' gpt2='' text='' mirrors=()
shift
case $kind in
    stdlib | wikitext-103 | wikitext-103-words | documents) ;;
    text)
        [ $# -ge 1 ] || fail "give the text a name: prepare.sh text NAME --data DIR"
        text=$1
        shift
        check_name text "$text"
        [ "$text" != test ] || fail "text test is the corpus's own; give another name"
        ;;
    *) fail "$kind is not one of stdlib, wikitext-103, wikitext-103-words, documents, text" ;;
esac
while [ $# -gt 0 ]; do
    case $1 in
        --data | --name | --gpt2 | --mirror) [ $# -ge 2 ] || fail "$1 needs a value; -h shows the options" ;;
        *) fail "option $1 is not one of --data, --name, --gpt2, --mirror" ;;
    esac
    case $1 in
        --data) data=$2 ;;
        --name) name=$2 ;;
        --gpt2) gpt2=$2 ;;
        --mirror) mirrors+=(--mirror "$2") ;;
    esac
    shift 2
done
# An option that would be ignored is refused.
refuse() { # OPTION VALUE KINDS
    case " $3 " in
        *" $kind "*) ;;
        *) [ -z "$2" ] || fail "$1 is not for $kind; leave it out" ;;
    esac
}
refuse --data "$data" "wikitext-103 wikitext-103-words documents text"
refuse --name "$name" "documents"
refuse --gpt2 "$gpt2" "stdlib wikitext-103 documents"
refuse --mirror "${mirrors[*]-}" "wikitext-103 wikitext-103-words"
[ -z "$data" ] || [ -d "$data" ] || fail "--data $data is not a folder"
for file in encoder.json vocab.bpe; do
    [ -z "$gpt2" ] || [ -f "$gpt2/$file" ] || fail "--gpt2 $gpt2 lacks $file; give the folder of GPT-2's files"
done
[ ${#mirrors[@]} = 0 ] || [ -z "$data" ] || fail "--mirror is for a download, but --data $data is given; give one of them"
case $kind in
    documents | text) [ -n "$data" ] || fail "give --data DIR, a folder with one text file a document" ;;
esac
case $kind in
    documents)
        CORPUS=${name:-documents}
        check_name --name "$CORPUS"
        case $CORPUS in
            stdlib | wikitext-103*) fail "--name $CORPUS is that of another corpus; give another" ;;
        esac
        ;;
    text) ;;
    *) CORPUS=$kind ;;
esac
home=$WORK/$SCALE/$CORPUS
need python fairseq-preprocess
WORKERS=${WORKERS:-$(getconf _NPROCESSORS_ONLN)}
check_count WORKERS "$WORKERS"

# Characters: of validation and of test text, of a document that is long enough to be held out (32 times the longest
# training length, at some four a subword), and of training text.
case $SCALE in
    paper) held_out=4000000 long=131072 pieces=50000 limit=() ;;
    small) held_out=400000 long=32768 pieces=4000 limit=() ;;
    smoke) held_out=40000 long=4096 pieces=500 limit=(--limit 1000000) ;;
esac

folder=$home splits="train valid test"
if [ -n "$text" ]; then folder=$home/texts/$text splits=test; fi
raw=$folder/raw prepared=$folder/prepared model=$home/prepared/sentencepiece.model dictionary=$home/prepared/dict.txt
[ -z "$gpt2" ] || model=$home/prepared/gpt2
if [ -n "$text" ] && [ "$DRY_RUN" != 1 ]; then
    [ -f "$dictionary" ] || fail "no subwords in $home/prepared; prepare the corpus first: $here/prepare.sh $(preparation)"
    [ ! -d "$home/prepared/gpt2" ] || model=$home/prepared/gpt2
fi
marks=$prepared/steps

# ---- text --------------------------------------------------------------------------------------------------------
archives=${data:-$home/archives}
words_or_articles=articles
[ "$kind" != wikitext-103-words ] || words_or_articles=words
write_text() {
    case $kind in
        stdlib) run python "$here/corpus/standard_library.py" "$raw" "${size[@]}" ;;
        documents) run python "$here/corpus/documents.py" "$data" "$raw" "${size[@]}" ;;
        text) run python "$here/corpus/documents.py" "$data" "$raw" --test-only ;;
        *) run python "$here/corpus/wikitext.py" "$words_or_articles" "$archives" "$raw" ;;
    esac
}
size=(--held-out "$held_out" --long "$long" ${limit[@]+"${limit[@]}"})

# ---- subwords, numbers -------------------------------------------------------------------------------------------
learn() {
    # Only one of the two stays.
    run rm -rf "$home/prepared/gpt2" "$home/prepared/sentencepiece.model"
    if [ -n "$gpt2" ]; then
        run python "$here/corpus/document_subwords.py" gpt2 "$gpt2" "$model" "$dictionary"
    else
        run python "$here/corpus/document_subwords.py" sentencepiece "$pieces" "$model" "$dictionary" "$raw/train.jsonl"
    fi
}
cut() { # SPLIT
    run python "$here/corpus/document_subwords.py" apply "$model" "$raw/$1.jsonl" "$prepared/pieces.$1" --workers "$WORKERS"
}
numbers() {
    local split words=()
    [ "$kind" = wikitext-103-words ] || words+=(--srcdict "$dictionary")
    for split in $splits; do
        if [ "$kind" = wikitext-103-words ]; then
            words+=("--${split}pref" "$raw/$split.words")
        else
            words+=("--${split}pref" "$prepared/pieces.$split")
        fi
    done
    run rm -rf "$folder/binary.partial"
    logged "$prepared/preprocess.log" fairseq-preprocess --only-source "${words[@]}" \
        --destdir "$folder/binary.partial" --workers "$WORKERS"
    run rm -rf "$folder/binary"
    run mv "$folder/binary.partial" "$folder/binary"
}

run mkdir -p "$prepared"
# What the text is made of, as text: other files mean other text.
case $kind in
    wikitext-*)
        inputs=$(run python "$here/corpus/wikitext.py" fetch "$words_or_articles" "$archives" "$home/checksums.json" \
            ${data:+--no-download} ${mirrors[@]+"${mirrors[@]}"})
        [ "$DRY_RUN" != 1 ] || echo "$inputs"
        ;;
    # Names, sizes and times: what is in them may be many gigabytes.
    documents | text) inputs=$(cd "$data" && ls -lnR . | cksum) ;;
    stdlib) inputs=$(python -c 'import sys; print(sys.version)') ;;
esac
step "text of $CORPUS${text:+, $text}" write_text
inputs=
if [ -n "$text" ]; then
    [ "$DRY_RUN" = 1 ] || inputs=$(cksum <"$dictionary")
elif [ "$kind" != wikitext-103-words ]; then
    [ -z "$gpt2" ] || inputs=$(cat "$gpt2/encoder.json" "$gpt2/vocab.bpe" | cksum)
    step subwords learn
fi
if [ "$kind" != wikitext-103-words ]; then
    for split in $splits; do step "subwords of $split" cut "$split"; done
fi
step "binary data" numbers
