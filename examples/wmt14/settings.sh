# shellcheck shell=bash
# What the recipes of this folder share: scale, places, names. Sourced, never run.
#
#   SCALE    paper: WMT14, the paper's models, GPUs | small: small models, CPU | smoke: a toy, minutes for a table
#   CORPUS   SCALE=small: multi30k (default) or newstest (newstest2008-2012). The other scales have one corpus each
#   WORK     where everything is written (default: work/wmt14 in the repository)
#   DRY_RUN  1: print the commands instead of running them
#   SEED     of the training (default: 1)
#   QUIET    1: messages of fairseq to files, one line a step on the terminal
#   VENV     the environment that scripts/setup.sh made (default: .venv in the repository)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
SCALE=${SCALE:-paper}
WORK=${WORK:-$root/work/wmt14}
DRY_RUN=${DRY_RUN:-0}
SEED=${SEED:-1}
QUIET=${QUIET:-0}
VENV=${VENV:-$root/.venv}
baseline=sinusoidal
source "$root/examples/common/shell.sh"

case $SCALE in
    paper | smoke) corpora=$([ "$SCALE" = paper ] && echo wmt14 || echo grammar) ;;
    small) corpora="multi30k newstest" ;;
    *) fail "SCALE=$SCALE is not one of paper, small, smoke" ;;
esac
CORPUS=${CORPUS:-${corpora%% *}}
case " $corpora " in
    *" $CORPUS "*) ;;
    *) fail "CORPUS=$CORPUS is not one of those of SCALE=$SCALE: ${corpora// /, }" ;;
esac
case $SEED in
    '' | *[!0-9]* | 0) fail "SEED=$SEED is not a whole number above 0" ;;
esac
case $WORK in
    /*) ;;
    *) WORK=$PWD/$WORK ;;
esac

# A corpus other than the scale's first has a folder of its own.
home=$WORK/$SCALE
[ "$CORPUS" = "${corpora%% *}" ] || home=$WORK/$SCALE-$CORPUS

check_pair() {
    case $1 in
        en-de) ;;
        en-fr) [ "$CORPUS" != grammar ] || fail "SCALE=smoke has no en-fr, only en-de: its text comes from a grammar" ;;
        *) fail "language pair $1 is not one of en-de, en-fr" ;;
    esac
}

check_size() {
    case $1 in
        base | big) ;;
        *) fail "size $1 is not one of base, big" ;;
    esac
}

pair_folder() { # PAIR
    echo "$home/$1"
}

# The folder of one trained system.
system_folder() { # NAME PAIR SIZE
    echo "$home/$2/$3/$1/seed$SEED"
}

check_binary() { # PAIR
    [ "$DRY_RUN" = 1 ] || [ -d "$(pair_folder "$1")/binary" ] ||
        fail "no data in $(pair_folder "$1")/binary; run SCALE=$SCALE CORPUS=$CORPUS WORK=$WORK $here/prepare.sh $1"
}

# The set of sentences that is translated and scored.
SET=${SET:-test}
case $SET in
    test | valid | joined) ;;
    *) fail "SET=$SET is not one of test, valid, joined" ;;
esac

translations() { # FOLDER OF A SYSTEM
    if [ "$SET" = test ]; then echo "$1/generate.log"; else echo "$1/generate-$SET.log"; fi
}

# The raw source and reference of the set: PAIR LANGUAGE
raw_text() {
    case $SET in
        joined) echo "$(pair_folder "$1")/joined/raw/test.$2" ;;
        *) echo "$(pair_folder "$1")/raw/$SET.$2" ;;
    esac
}

# A path below the folder of the scale, from there.
within_home() {
    echo "${1#"$home"/}"
}
