#!/usr/bin/env bash
# Regenerate a table or figure of the xPos paper (Sun et al., ACL 2023) or the Sandwich paper (Chi et al., ACL 2023).
#
#   reproduce.sh WHAT [--data DIR] [--text NAME=DIR]... [--only NAME,NAME] [--gpt2 DIR] [--train]
#
# WHAT: lex-figure1, lex-table2, lex-table6        perplexity by length: sinusoidal, ALiBi, RoPE, xPos with BCA
#       lex-table4, lex-table5                     the same: ablations of xPos; encodings with and without BCA
#       lex-table3                                 attention resolution
#       lex-figure2                                RoPE and xPos against distance (no training)
#       sandwich-table1, sandwich-table4           perplexity by length: shifted and equal ALiBi slopes, windows
#       sandwich-table2                            two of these, trained on longer samples
#       sandwich-table3                            seven encodings with significance
#       sandwich-table5                            Sandwich and ALiBi with a cache of a few thousand tokens
#       sandwich-figure4, -5, -6, -7, -11, -12, -13  receptive fields
#       sandwich-figure8, -9, -10                  Sandwich's bias against distance, with log curves (no training)
#       all                                        perplexity by length: every encoding, full, windowed and blockwise
#
# --data        given to prepare.sh where the corpus has no data yet: archives, or documents for another CORPUS
# --gpt2        given to prepare.sh too: GPT-2's subwords, which both papers have
# --text        evaluate on these documents instead of the corpus's own test text; repeat for more
# --only        these systems only
# --train       prepare and train, and stop there
#
# SCALE=paper|small|smoke; CORPUS=...; SEEDS="1 2" for several trainings a system (default: the paper's number at
# SCALE=paper, else 1); JOBS=N trains N systems side by side, with one thread each on the CPU; GPUS=N for each training;
# TOKENS, DEVICE: as in evaluate.sh; PAPER=xpos|sandwich: whose settings and lengths WHAT=all has (default: sandwich);
# DRY_RUN=1 prints the commands.
#
# Leaves in $WORK/$SCALE/CORPUS/results: WHAT.{json,md,tsv}, the table with the paper's beside it; WHAT-TEXT.{png,pdf,tsv},
# the figure; and cells/WHAT-TEXT[-by-seed].json, all numbers. Run it again to continue.
set -euo pipefail
export QUIET=1
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
export SCALE CORPUS WORK DRY_RUN VENV

[ $# -ge 1 ] || fail "give the name of a table or figure, such as lex-table2; -h explains"
what=$1 data_folder='' only='' gpt2='' train_only='' text_names=() text_folders=()
shift
known=$(cut -f 1 "$here/results.tsv" | tail -n +2)
line=$(awk -F '\t' -v name="$what" 'NR > 1 && $1 == name' "$here/results.tsv")
[ -n "$line" ] || fail "$what is not one of ${known//$'\n'/, }"
IFS=$'\t' read -r _ of_paper measure rows systems lengths baseline seeds <<<"$line"
rows_length=$(paper_length "$of_paper")
if [ "$what" = all ]; then
    of_paper=${PAPER:-$of_paper}
    case $of_paper in
        xpos | sandwich) ;;
        *) fail "PAPER=$PAPER is not one of xpos, sandwich" ;;
    esac
elif [ "${PAPER:-$of_paper}" != "$of_paper" ]; then
    fail "PAPER=$PAPER, but $what has the settings of $of_paper; leave PAPER out"
fi
export PAPER=$of_paper
while [ $# -gt 0 ]; do
    case $1 in
        --data | --text | --only | --gpt2) [ $# -ge 2 ] || fail "$1 needs a value; -h explains" ;;
        --train)
            train_only=1
            shift
            continue
            ;;
        *) fail "option $1 is not one of --data, --text, --only, --gpt2, --train" ;;
    esac
    case $1 in
        --data) data_folder=$2 ;;
        --gpt2) gpt2=$2 ;;
        --only) only=${2//,/ } ;;
        --text)
            text_names+=("${2%%=*}")
            text_folders+=("${2#*=}")
            check_name --text "${2%%=*}"
            [ "${2%%=*}" != test ] || fail "--text test is the corpus's own; give another name"
            [ "${2#*=}" != "$2" ] && [ -d "${2#*=}" ] || fail "--text $2: give NAME=DIR with a folder of documents"
            ;;
    esac
    shift 2
done
[ -z "$data_folder" ] || [ -d "$data_folder" ] || fail "--data $data_folder is not a folder"
[ -z "$gpt2" ] || [ -d "$gpt2" ] || fail "--gpt2 $gpt2 is not a folder"
size=$(size_of_paper "$of_paper")
need fairseq-train fairseq-preprocess fairseq-posenc
results=$home/results
# For the record of the result, without the places of this machine.
invocation="SCALE=$SCALE CORPUS=$CORPUS"

# ---- what needs no training --------------------------------------------------------------------------------------
case $measure in
    *-form)
        [ -z "$data_folder$only$gpt2$train_only${text_names[*]-}" ] || fail "$what needs no text and no system; give its name alone"
        [ "$DRY_RUN" != 1 ] || run source "$VENV/bin/activate"
        run mkdir -p "$results"
        run cd "$results"
        options=(--closed-form --lengths "$lengths" --json "$what.json")
        [ "$systems" = - ] || options+=(--dims "$systems")
        case $measure in
            resolution-form) run fairseq-posenc resolution "${options[@]}" ;;
            bias-form) run fairseq-posenc receptive-field "${options[@]}" ;;
        esac
        run fairseq-posenc plot "$what.json" --output "$what"
        exit
        ;;
esac

# ---- seeds, rows -------------------------------------------------------------------------------------------------
if [ "$SCALE" = paper ]; then SEEDS=${SEEDS:-$(seq -s ' ' "$seeds")}; else SEEDS=${SEEDS:-$SEED}; fi
source "$here/trained.sh"
export SEEDS TOKENS DEVICE
JOBS=${JOBS:-1}
check_count JOBS "$JOBS"
# Two processes that both want all cores are many times slower than two that share them.
[ "$JOBS" = 1 ] || export OMP_NUM_THREADS=1

length=$(training_length "$of_paper")
labels=() names=() encodings=() patterns=() paper_patterns=() longest=() options=()
set -f
while IFS=$'\t' read -r label name encoding pattern limit extra; do
    [ "$label" != row ] || continue
    for wanted in $systems; do
        # shellcheck disable=SC2053
        [[ $name == $wanted ]] || continue
        case " ${only:-$name} " in
            *" $name "*) ;;
            *) continue ;;
        esac
        [ "$extra" != - ] || extra=
        labels+=("$label")
        names+=("$name")
        encodings+=("$encoding")
        paper_patterns+=("${pattern//@/}")
        patterns+=("$(scaled "$rows_length" "$length" "$pattern")")
        longest+=("$(scaled "$rows_length" "$length" "$limit")")
        options+=("$(scaled "$rows_length" "$length" "$extra")")
        break
    done
done <"$here/rows/$rows.tsv"
set +f
for name in $only; do
    case " ${names[*]-} " in
        *" $name "*) ;;
        *) fail "--only $name is no system of $what; they are in $here/rows/$rows.tsv" ;;
    esac
done
check_encodings "${encodings[@]}"
export known_encodings
lengths=$(scaled "$rows_length" "$length" "@${lengths//,/,@}")
case " ${names[*]} " in
    *" $baseline "*) ;;
    *) baseline=${names[0]} ;;
esac
invocation="$invocation SEEDS=$(quoted "$SEEDS") examples/lm/reproduce.sh $what${only:+ --only ${only// /,}}"
[ "$what" != all ] || invocation="PAPER=$of_paper $invocation"
if [ "$measure" = pieces ] && [ "$TOKENS" != all ]; then
    ((TOKENS % ${lengths##*,} == 0)) || fail "TOKENS=$TOKENS is no multiple of the longest length, ${lengths##*,}"
elif [ "$what" = all ]; then
    # Systems with a limit read fewer lengths, and the whole text would be cut off elsewhere for these.
    fail "$what needs a number of tokens; leave TOKENS=all out"
fi
for name in ${text_names[@]+"${text_names[@]}"}; do invocation="$invocation --text $name=DIR"; done
source "$root/examples/common/jobs.sh"
[ "$DRY_RUN" != 1 ] || run source "$VENV/bin/activate"
run mkdir -p "$results/cells"

# ---- data, systems -----------------------------------------------------------------------------------------------
prepare() {
    local index arguments
    if [ "$DRY_RUN" = 1 ] || [ ! -d "$home/binary" ]; then
        arguments=$(preparation)
        # A name has no blanks.
        # shellcheck disable=SC2086
        "$here/prepare.sh" ${arguments% --data DIR} ${data_folder:+--data "$data_folder"} ${gpt2:+--gpt2 "$gpt2"}
    fi
    for index in ${text_names[@]+"${!text_names[@]}"}; do
        if [ "$DRY_RUN" = 1 ] || [ ! -d "$home/texts/${text_names[index]}/binary" ]; then
            "$here/prepare.sh" text "${text_names[index]}" --data "${text_folders[index]}"
        fi
    done
}

# One training for all rows of a system.
train_systems() {
    local seed index done_systems
    for seed in $SEEDS; do
        done_systems=' '
        for index in "${!names[@]}"; do
            case $done_systems in
                *" ${names[index]} "*) continue ;;
            esac
            done_systems="$done_systems${names[index]} "
            # The options of a row are words without blanks inside.
            # shellcheck disable=SC2086
            NAME=${names[index]} SEED=$seed start "${names[index]} seed $seed" \
                "$here/train.sh" "${encodings[index]}" "$size" ${options[index]}
        done
    done
    finish
}

# ---- results -----------------------------------------------------------------------------------------------------
# The checkpoints and the text behind a result, one a line with its checksum; without those of a result that is there.
sources() { # TEXT
    local name seed
    for name in $(printf '%s\n' "${names[@]}" | sort -u); do
        for seed in $SEEDS; do
            cksum "$(SEED=$seed && system_folder "$name" "$of_paper" "$size")/checkpoints/checkpoint_last.pt"
        done
    done
    if [ "$1" = test ]; then cksum "$home/binary/test.bin"; else cksum "$home/texts/$1/binary/test.bin"; fi
}

# A file of numbers whose checkpoints or text have changed since is made anew; else what it lacks is added. FILE.sources
# keeps what it was made of, systems included that are not asked for this time.
drop_outdated() { # FILE TEXT
    local sum bytes file
    [ "$DRY_RUN" != 1 ] || return 0
    if [ -f "$1.sources" ]; then
        while read -r sum bytes file; do
            if [ "$(cksum <"$file" 2>/dev/null)" != "$sum $bytes" ]; then
                rm -f "$1" "$1.sources"
                break
            fi
        done <"$1.sources"
    fi
    {
        sources "$2"
        cat "$1.sources" 2>/dev/null || true
    } | awk '{ file = $0; sub(/^[^ ]+ [^ ]+ /, "", file) } !seen[file]++' >"$1.sources.partial"
    mv "$1.sources.partial" "$1.sources"
}

joined() { # WORD.. : with commas, each once
    printf '%s\n' "$@" | awk '!seen[$0]++' | paste -s -d , -
}

# Every seed has segments of its own, as in the paper, whose deviations are mostly those of the segments.
by_seed=
[ "$measure" != last-token ] || [ "${SEEDS% *}" = "$SEEDS" ] || by_seed=-by-seed
# Numbers of one kind of segments alone are comparable.
cells_file() { # TEXT
    echo "results/cells/$what-$1$by_seed.json"
}

# Perplexities: rows that share patterns and lengths together, those of the baseline first.
perplexities() { # TEXT FILE
    local index key keys=() first='' group words
    for index in "${!names[@]}"; do
        key="${patterns[index]} ${longest[index]}"
        if [ "${names[index]}" = "$baseline" ] && [ -z "$first" ]; then first=$key; fi
        keys+=("$key")
    done
    while read -r key; do
        group=()
        for index in "${!names[@]}"; do
            [ "${keys[index]}" != "$key" ] || group+=("${names[index]}")
        done
        words=(--protocol "$measure" --lengths "$(up_to "${key#* }")" --patterns "${key% *}")
        if [ "$measure" = last-token ]; then
            words+=(--segments "$segments")
            [ -z "$by_seed" ] || words+=(--segments-by-seed)
        fi
        words+=(--baseline "$baseline" --json "$2")
        TEXT=$1 "$here/evaluate.sh" "$of_paper" "$(joined "${group[@]}")" "${words[@]}" </dev/null
    done < <(printf '%s\n' "$first" "${keys[@]}" | awk '!seen[$0]++')
}

# The lengths up to a limit; "-": all.
up_to() {
    local length found=()
    for length in ${lengths//,/ }; do
        if [ "$1" = - ] || [ "$length" -le "$1" ]; then found+=("$length"); fi
    done
    joined "${found[@]}"
}

# Resolutions and receptive fields: all systems under all patterns of the rows.
analysis() { # TEXT FILE
    local words=(--lengths "$lengths" --patterns "$(joined "${patterns[@]}")")
    TEXT=$1 "$here/analyse.sh" "$measure" "$of_paper" "$(joined "${names[@]}")" "${words[@]}" --json "$2"
}

measured() { # TEXT FILE
    case $measure in
        pieces | last-token) perplexities "$@" ;;
        *) analysis "$@" ;;
    esac
}

prepare
train_systems
[ -z "$train_only" ] || exit 0
marks=$results/steps
texts=(test)
[ ${#text_names[@]} = 0 ] || texts=("${text_names[@]}")
cells=() arguments=()
for text in "${texts[@]}"; do
    file=$(cells_file "$text")
    cells+=(--cells "$text" "$file")
    drop_outdated "$home/$file" "$text"
    inputs=
    [ "$DRY_RUN" = 1 ] || inputs=$(sources "$text")
    step "$measure of $what on $text" measured "$text" "$file"
    changed=
done
for index in "${!names[@]}"; do
    arguments+=(--row "${labels[index]}" "${names[index]}" "${patterns[index]}" "${paper_patterns[index]}")
done
paper_file=$here/paper/$what.tsv
[ -f "$paper_file" ] || paper_file=
# shellcheck disable=SC2086
run python "$here/length_table.py" "$home" "$results/$what" --settings "$of_paper-$size" "${arguments[@]}" \
    "${cells[@]}" --training-length "$length" \
    --paper-training-length "$(paper_length "$of_paper")" --seeds $SEEDS ${paper_file:+--paper "$paper_file"} \
    --command "$invocation"
run cd "$home"
for text in "${texts[@]}"; do
    paper=()
    case $measure in
        pieces | last-token) [ -z "$paper_file" ] || paper=(--paper "$paper_file") ;;
    esac
    run fairseq-posenc plot "$(cells_file "$text")" --output "results/$what-$text" ${paper[@]+"${paper[@]}"}
done
