#!/usr/bin/env bash
# Regenerate a table or figure of the PosNet paper (Zhang et al., ACL 2023), or what it did not measure.
#
#   reproduce.sh WHAT [--pairs en-de,en-fr] [--only NAME,NAME] [--data DIR] [--corpus multi30k|newstest]
#
# WHAT: table1   base model: BLEU, chrF++, parameters, speed of seven encodings     (rows/table1.tsv)
#       table2   big model: sinusoidal, shaw, posnet-embed                          (rows/table2.tsv)
#       all      base model: all encodings                                          (rows/all.tsv)
#       figure3  BLEU on the validation set against PosNet's kernel dimension       (rows/figure3.tsv)
#       figure4  table1's systems: gap over sinusoidal as the n-grams grow
#       lengths  all encodings: BLEU by source length, up to eight sentences joined to one
#       figure2  all encodings: time of the forward pass
#       table3   all encodings: peak memory of training
#
# --pairs  default: both; SCALE=smoke has en-de alone
# --only   rows of these names only
# --data   given to prepare.sh where a pair has no data yet; without it they are downloaded
#
# SCALE=paper|small|smoke; SEEDS="1 2" for several trainings a system (tables and figure3); JOBS=N trains N systems side
# by side, with one thread each on the CPU; GPUS=N for each training; DRY_RUN=1 prints the commands.
#
# Leaves $WORK/$SCALE/results/WHAT.{json,md,tsv}, and for figures, lengths and table3 WHAT.{json,png,pdf,tsv}, with the
# pair in the name where there is one file a pair. Run it again to continue.
set -euo pipefail
for word in "$@"; do
    # Before settings.sh, which checks the corpus against the scale.
    if [ "${option:-}" = --corpus ]; then export CORPUS=$word; fi
    option=$word
done
export QUIET=1
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
export SCALE CORPUS WORK DRY_RUN VENV

[ $# -ge 1 ] || fail "give table1, table2, table3, all, figure2, figure3, figure4 or lengths; -h explains"
what=$1 pairs='' only='' data=''
shift
case $what in
    table1 | figure4) rows=table1 size=base ;;
    table2) rows=table2 size=big ;;
    figure3) rows=figure3 size=base ;;
    all | lengths | table3 | figure2) rows=all size=base ;;
    *) fail "$what is not one of table1, table2, table3, all, figure2, figure3, figure4, lengths" ;;
esac
while [ $# -gt 0 ]; do
    case $1 in
        --pairs | --only | --data | --corpus) [ $# -ge 2 ] || fail "$1 needs a value; -h explains" ;;
        *) fail "option $1 is not one of --pairs, --only, --data, --corpus" ;;
    esac
    case $1 in
        --pairs) pairs=${2//,/ } ;;
        --only) only=${2//,/ } ;;
        --data) data=$2 ;;
    esac
    shift 2
done
case $what in
    # One model, no text.
    figure2 | table3) [ -z "$pairs$data" ] || fail "$what needs no text; leave --pairs and --data out" ;;
esac
if [ -z "$pairs" ]; then
    pairs="en-de en-fr"
    [ "$SCALE" != smoke ] || pairs=en-de
fi
for pair in $pairs; do check_pair "$pair"; done
[ -z "$data" ] || [ -d "$data" ] || fail "--data $data is not a folder"
SEEDS=${SEEDS:-$SEED}
case $what in
    figure4 | lengths) [ "${SEEDS% *}" = "$SEEDS" ] || fail "$what takes one seed, but SEEDS=$SEEDS; give one" ;;
esac
for seed in $SEEDS; do check_count SEEDS "$seed"; done
JOBS=${JOBS:-1}
check_count JOBS "$JOBS"
# For the record of the result, without the places of this machine.
invocation="SCALE=$SCALE CORPUS=$CORPUS SEEDS=$(quoted "$SEEDS") JOBS=$JOBS examples/wmt14/reproduce.sh $what"
invocation="$invocation --pairs ${pairs// /,}${only:+ --only ${only// /,}}"

# ---- the rows ----------------------------------------------------------------------------------------------------
names=() encodings=() options=()
while IFS=$'\t' read -r name encoding extra; do
    [ "$name" != name ] || continue
    if [ -n "$only" ]; then
        case " $only " in
            *" $name "*) ;;
            *) continue ;;
        esac
    fi
    names+=("$name")
    encodings+=("$encoding")
    [ "$extra" != - ] || extra=
    options+=("$extra")
done <"$here/rows/$rows.tsv"
for name in $only; do
    case " ${names[*]-} " in
        *" $name "*) ;;
        *) fail "--only $name is not a row of $here/rows/$rows.tsv" ;;
    esac
done
need fairseq-train fairseq-generate fairseq-preprocess
check_encodings "${encodings[@]}"
export known_encodings
source "$root/examples/common/jobs.sh"
results=$home/results
[ "$DRY_RUN" != 1 ] || run source "$VENV/bin/activate"
# Two processes that both want all cores are many times slower than two that share them.
[ "$JOBS" = 1 ] || run export OMP_NUM_THREADS=1
run mkdir -p "$results"

# ---- data, systems -----------------------------------------------------------------------------------------------
prepare() {
    local pair
    for pair in $pairs; do
        if [ "$DRY_RUN" = 1 ] || [ ! -d "$(pair_folder "$pair")/binary" ]; then
            "$here/prepare.sh" "$pair" ${data:+--data "$data"}
        fi
    done
}

system() { # NAME ENCODING OPTIONS PAIR SEED
    # The options of a row are words without spaces inside.
    # shellcheck disable=SC2086
    NAME=$1 SEED=$5 "$here/train.sh" "$2" "$4" "$size" $3
    SEED=$5 "$here/generate.sh" "$1" "$4" "$size"
}

systems() {
    local pair seed index
    for seed in $SEEDS; do
        for pair in $pairs; do
            for index in "${!names[@]}"; do
                start "${names[index]} $pair seed $seed" \
                    system "${names[index]}" "${encodings[index]}" "${options[index]}" "$pair" "$seed"
            done
        done
    done
    finish
}

# ---- results -----------------------------------------------------------------------------------------------------
# In a subshell, for the variables.
score() ( # RESULT PAIR SEED
    export JSON=results/$1-scores-$2-seed$3.json SEED=$3
    if [ "$DRY_RUN" = 1 ]; then
        "$here/score.sh" "$2" "$size" "${names[@]}"
    else
        logged "$home/${JSON%.json}.log" "$here/score.sh" "$2" "$size" "${names[@]}"
    fi
)

table() { # RESULT [PAPER]
    local pair seed name file
    marks=$results/steps
    for pair in $pairs; do
        for seed in $SEEDS; do
            inputs=
            if [ "$DRY_RUN" != 1 ]; then
                for name in "${names[@]}"; do
                    file=$(translations "$(SEED=$seed && system_folder "$name" "$pair" "$size")")
                    inputs="$inputs $(cksum <"$file")"
                done
            fi
            step "score $1 $pair seed $seed" score "$1" "$pair" "$seed"
            changed=
        done
    done
    # shellcheck disable=SC2086
    run python "$here/table.py" "$home" "$here/rows/$rows.tsv" "$results/$1" --pairs $pairs --size "$size" \
        --seeds $SEEDS --set "$SET" --only "${names[@]}" ${2:+--paper "$2"} --command "$invocation"
}

# The words --name NAME --hyp FILE for these systems, the baseline first: PAIR SEED NAME...
hypotheses() {
    local pair=$1 name
    local SEED=$2
    shift 2
    words=()
    for name in "$@"; do
        local word=(--name "$name" --hyp "$(within_home "$(translations "$(system_folder "$name" "$pair" "$size")")")")
        if [ "$name" = $baseline ]; then words=("${word[@]}" ${words[@]+"${words[@]}"}); else words+=("${word[@]}"); fi
    done
}

draw() { # RESULT WITHOUT ENDING, PICTURE WITHOUT ENDING, [OPTION]... from $home
    run fairseq-posenc plot "$1.json" --output "$2" "${@:3}"
}

grain() {
    local pair
    run cd "$home"
    for pair in $pairs; do
        hypotheses "$pair" "$SEEDS" "${names[@]}"
        run fairseq-posenc grain --ref "$pair/raw/test.${pair#*-}" "${words[@]}" --json "results/$what-$pair.json"
        draw "results/$what-$pair" "results/$what-$pair"
    done
}

# Long sentences for every system whose encoding has no limit below them.
lengths() {
    local pair name longest limit fitting
    export SEED=$SEEDS SET=joined
    for pair in $pairs; do
        local data=$home/$pair
        "$here/joined.sh" "$pair"
        fitting=()
        for name in "${names[@]}"; do
            if [ "$DRY_RUN" != 1 ]; then
                longest=$(awk '{ if (NF > most) most = NF } END { print most + 1 }' "$data"/joined/bpe.test.*)
                limit=$(python "$here/limit.py" "$(system_folder "$name" "$pair" "$size")/average.pt" "$data/binary")
                if [ "$longest" -gt "$limit" ]; then
                    echo "$name is left out: its sentences have at most $limit subwords, the longest here has $longest"
                    continue
                fi
            fi
            fitting+=("$name")
            start "$name $pair joined" "$here/generate.sh" "$name" "$pair" "$size"
        done
        finish
        hypotheses "$pair" "$SEED" "${fitting[@]}"
        run cd "$home"
        run fairseq-posenc lengths --src "$pair/joined/raw/test.${pair%-*}" --ref "$pair/joined/raw/test.${pair#*-}" \
            "${words[@]}" --training-source "$pair/raw/train.${pair%-*}" --json "results/$what-$pair.json"
        draw "results/$what-$pair" "results/$what-$pair"
    done
}

cost() { # MEASURE [OPTION OF plot]...
    local workload=() joined_names
    joined_names=$(printf '%s,' "${encodings[@]}")
    case $SCALE in
        paper) workload=(--device cuda --sentences 128) ;;
        # Ten passes of the full batch by each of sixteen models would take a CPU half an hour.
        small) [ "$1" = memory ] || workload=(--sentences 8 --rounds 5) ;;
        smoke) workload=(--size iwslt_de_en --vocabulary 500 --length 8 --sentences 2 --rounds 1) ;;
    esac
    run cd "$home"
    run fairseq-posenc bench --measure "$1" --encodings "${joined_names%,}" ${workload[@]+"${workload[@]}"} \
        --json "results/$what.json"
    draw "results/$what" "results/$what" "${@:2}"
}

case $what in
    table1 | table2)
        prepare
        systems
        table "$what" "$here/paper/$what.tsv"
        ;;
    all)
        prepare
        systems
        table "$what" "$here/paper/table1.tsv"
        ;;
    figure3)
        export SET=valid
        prepare
        systems
        table figure3-table
        run cd "$home"
        draw results/figure3-table results/figure3
        ;;
    figure4)
        prepare
        systems
        grain
        ;;
    lengths)
        prepare
        systems
        lengths
        ;;
    figure2) cost forward ;;
    table3) cost memory --paper "$here/paper/table3.tsv" ;;
esac
