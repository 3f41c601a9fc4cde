# shellcheck shell=bash
# How recipes check, show and run commands, and do a step once. Sourced by the settings.sh of a recipe, which sets before:
#
#   SCALE    paper | small | smoke
#   DRY_RUN  1: print the commands instead of running them
#   QUIET    1: messages of fairseq to files, one line a step on the terminal
#   VENV     the environment that scripts/setup.sh made

PATH=$VENV/bin:$PATH

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

# A driver asks once for all that it runs, in known_encodings.
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
