# shellcheck shell=bash
# What the recipes of this folder share: scale, places, how a command is run, what counts as done. Sourced, never run.
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
PATH=$VENV/bin:$PATH
baseline=sinusoidal

fail() {
    echo "$(basename "$0"): error: $*" >&2
    exit 2
}

# The comment at the top of the script, as its help.
usage() {
    sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p;}' "$0"
}

# -h or --help anywhere among the arguments.
for argument in "$@"; do
    case $argument in
        -h | --help)
            usage
            exit 0
            ;;
    esac
done

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

# A whole number above 0, such as a number of processes: NAME VALUE.
check_count() {
    case $2 in
        '' | *[!0-9]* | 0*) fail "$1 $2 is not a whole number above 0" ;;
    esac
}

need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 || case $tool in
            curl | torchrun) fail "$tool not found; install it" ;;
            *) fail "$tool not found in $VENV/bin or PATH; run scripts/setup.sh" ;;
        esac
    done
}

# reproduce.sh asks once for all that it runs, in known_encodings.
check_encodings() {
    local known=${known_encodings:-} name
    if [ -z "$known" ]; then
        need python
        known=$(python -c 'from fairseq_posenc.encodings import encoding_names as n; print(*n())' 2>/dev/null) ||
            fail "fairseq_posenc cannot be imported by $(command -v python); run scripts/setup.sh"
        known_encodings=$known
    fi
    for name in "$@"; do
        case " $known " in
            *" $name "*) ;;
            *) fail "encoding $name is not one of ${known// /, }" ;;
        esac
    done
}

# A word as a shell reads it back.
quoted() {
    case $1 in
        '' | *[!A-Za-z0-9_./:=@%+,-]*) printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")" ;;
        *) printf %s "$1" ;;
    esac
}

shown() {
    local word line=
    for word in "$@"; do line="$line${line:+ }$(quoted "$word")"; done
    echo "$line"
}

# Run a command, or print it so that it can be pasted into a shell.
run() {
    if [ "$DRY_RUN" = 1 ]; then shown "$@"; else "$@"; fi
}

# The same with the output in a file, which is there only when the command has succeeded: FILE COMMAND...
run_into() {
    local file=$1 failed=0
    shift
    if [ "$DRY_RUN" = 1 ]; then
        echo "$(shown "$@") > $(quoted "$file")"
        return
    fi
    if [ "$QUIET" = 1 ]; then
        "$@" >"$file.partial" 2>"$file.messages" || failed=1
        [ $failed = 0 ] || tail -n 20 "$file.messages" >&2
    else
        "$@" >"$file.partial" || failed=1
    fi
    if [ $failed = 1 ]; then
        echo "$(basename "$0"): error: $1 failed; its output is $file.partial" >&2
        exit 1
    fi
    mv "$file.partial" "$file"
}

# The same with all that the command says in a file of messages, shown where it fails: FILE COMMAND...
logged() {
    local file=$1
    shift
    if [ "$DRY_RUN" = 1 ]; then
        shown "$@"
    elif ! "$@" >"$file" 2>&1; then
        tail -n 20 "$file" >&2
        echo "$(basename "$0"): error: $1 failed; its messages are in $file" >&2
        exit 1
    fi
}

# Do a step once, again only when its commands, its inputs, or a step before it have changed. The mark of a finished
# step is a file in the folder $marks with the commands in it.
#   step TITLE FUNCTION [ARGUMENT]...      the function calls run; $inputs: what else the step depends on, as text
changed=
inputs=
step() {
    local title=$1 mark now
    shift
    if [ "$DRY_RUN" = 1 ]; then
        "$@"
        return
    fi
    mark=$marks/${title//[^A-Za-z0-9.]/-}
    now=$(DRY_RUN=1 && "$@" && echo "$inputs")
    if [ -z "$changed" ] && [ -f "$mark" ] && [ "$(cat "$mark")" = "$now" ]; then
        echo "$title: already done"
        return
    fi
    changed=1
    mkdir -p "$marks"
    rm -f "$mark"
    echo "$title ..."
    local begun=$SECONDS
    "$@"
    printf '%s\n' "$now" >"$mark.partial"
    mv "$mark.partial" "$mark"
    echo "$title: $((SECONDS - begun)) s"
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
