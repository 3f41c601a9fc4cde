#!/usr/bin/env bash
# Score systems against each other: BLEU, chrF++, signatures, and significance against the baseline.
#
#   score.sh en-de|en-fr base|big NAME...
#
# The baseline is sinusoidal where it is among the names, else the first.
# SET=...    test (default), valid, or joined
# SEED=N     of the trainings (default: 1)
# JSON=FILE  where all of it is written; a path from $WORK/$SCALE (default: PAIR/SIZE/scores-SET-seedN.json)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

[ $# -ge 3 ] || fail "give en-de or en-fr, base or big, and names of systems; -h explains"
pair=$1 size=$2
shift 2
check_pair "$pair"
check_size "$size"
need fairseq-posenc

first=$1 names=()
for name in "$@"; do [ "$name" != $baseline ] || first=$baseline; done
for name in "$first" "$@"; do
    case " ${names[*]-} " in
        *" $name "*) ;;
        *) names+=("$name") ;;
    esac
done
command=(fairseq-posenc score --ref "$(within_home "$(raw_text "$pair" "${pair#*-}")")")
for name in "${names[@]}"; do
    file=$(translations "$(system_folder "$name" "$pair" "$size")")
    [ "$DRY_RUN" = 1 ] || [ -f "$file" ] || fail "no translations in $file; make them with generate.sh"
    command+=(--name "$name" --hyp "$(within_home "$file")")
done
# From the folder of the scale, so that the result's paths mean something elsewhere too.
run cd "$home"
run "${command[@]}" --json "${JSON:-$pair/$size/scores-$SET-seed$SEED.json}"
