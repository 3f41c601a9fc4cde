# What the recipes of this folder share: scale, places, and how a command is run. Sourced, never run.
#
#   SCALE    paper: WMT14, the paper's models, GPUs | small: Multi30k, small models, CPU | smoke: minutes, for tests
#   WORK     where everything is written (default: work/wmt14 in the repository)
#   DRY_RUN  1: print the commands instead of running them
#   SEED     of the training (default: 1)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SCALE=${SCALE:-paper}
WORK=${WORK:-$root/work/wmt14}
DRY_RUN=${DRY_RUN:-0}
SEED=${SEED:-1}
PATH=${VENV:-$root/.venv}/bin:$PATH

fail() {
    echo "$(basename "$0"): error: $*" >&2
    exit 2
}

case $SCALE in
    paper | small | smoke) ;;
    *) fail "SCALE=$SCALE is not one of paper, small, smoke" ;;
esac

check_pair() {
    case $1 in
        en-de | en-fr) ;;
        *) fail "language pair $1 is not one of en-de, en-fr" ;;
    esac
}

# Run a command, or print it so that it can be pasted into a shell.
run() {
    if [ "$DRY_RUN" = 1 ]; then
        printf '%q ' "$@"
        echo
    else
        "$@"
    fi
}

# The folder of one trained system.
system_folder() { # NAME PAIR SIZE
    echo "$WORK/$SCALE/$2/$3/$1/seed$SEED"
}
