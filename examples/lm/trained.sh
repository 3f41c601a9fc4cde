# shellcheck shell=bash
# Which trained systems a script reads, and how much of the text. Sourced by evaluate.sh and analyse.sh.

case $SCALE in
    paper) TOKENS=${TOKENS:-229376} segments=1000 texts=8 gradients=100 ;;
    small) TOKENS=${TOKENS:-49152} segments=500 texts=8 gradients=100 ;;
    smoke) TOKENS=${TOKENS:-16384} segments=20 texts=2 gradients=4 ;;
esac
[ "$TOKENS" = all ] || check_count TOKENS "$TOKENS"
if [ "$SCALE" = paper ]; then DEVICE=${DEVICE:-cuda}; else DEVICE=${DEVICE:-cpu}; fi
case $DEVICE in
    cpu | cuda) ;;
    *) fail "DEVICE=$DEVICE is not one of cpu, cuda" ;;
esac
SEEDS=${SEEDS:-$SEED}
for seed in $SEEDS; do check_count SEEDS "$seed"; done

# The text's folder from $home.
if [ "$TEXT" = test ]; then data=binary; else data=texts/$TEXT/binary; fi

# Set paper, size, paths and names: PAPER NAME,NAME,..
trained() {
    local name seed path
    [ $# -ge 2 ] || fail "give xpos, sandwich or adaptive, and names of systems; -h explains"
    case $1 in
        xpos | sandwich | adaptive) paper=$1 ;;
        *) fail "$1 is not one of xpos, sandwich, adaptive" ;;
    esac
    size=${SIZE:-$(size_of_paper "$paper")}
    check_size "$size"
    need fairseq-posenc
    [ "$DRY_RUN" = 1 ] || [ -d "$home/$data" ] || fail "no text in $home/$data; make it with prepare.sh"
    paths=() names=()
    for name in ${2//,/ }; do
        check_name name "$name"
        for seed in $SEEDS; do
            path=$(SEED=$seed && system_folder "$name" "$paper" "$size")/checkpoints/checkpoint_last.pt
            [ "$DRY_RUN" = 1 ] || [ -f "$path" ] ||
                fail "no checkpoint $path; train it with train.sh, or name another SCALE, WORK, CORPUS or SEED"
            paths+=("${path#"$home"/}")
            names+=("$name")
        done
    done
    run mkdir -p "$home/results/cells"
}

# Add an option with its value to the array options, unless it is there.
by_default() { # OPTION VALUE
    case " ${options[*]-} " in
        *" $1 "* | *" $1="*) ;;
        *) options+=("$1" "$2") ;;
    esac
}

# Run a command, with QUIET=1 without what it prints but progress and errors.
run_quietly() {
    if [ "$DRY_RUN" = 1 ] || [ "$QUIET" != 1 ]; then run "$@"; else "$@" >/dev/null; fi
}
