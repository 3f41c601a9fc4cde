# shellcheck shell=bash
# Several commands side by side, each in a process group of its own so that an interruption ends all of it. Sourced.
#
#   JOBS  how many at a time (default: 1)

pids=() titles=() failures=()

# Start a command when fewer than $JOBS run: TITLE COMMAND...
start() {
    local title=$1
    shift
    if [ "$DRY_RUN" = 1 ]; then
        "$@"
        return
    fi
    until [ ${#pids[@]} -lt "$JOBS" ]; do
        sleep 0.3
        collect
    done
    # Job control for this command alone: what runs in the foreground stays within reach of Ctrl-C.
    set -m
    "$@" </dev/null &
    set +m
    pids+=($!)
    titles+=("$title")
}

# Take the ended ones off the list, and note which failed.
collect() {
    local index left_pids=() left_titles=()
    for index in ${pids[@]+"${!pids[@]}"}; do
        if kill -0 "${pids[index]}" 2>/dev/null; then
            left_pids+=("${pids[index]}")
            left_titles+=("${titles[index]}")
        else
            wait "${pids[index]}" || failures+=("${titles[index]}")
        fi
    done
    pids=(${left_pids[@]+"${left_pids[@]}"})
    titles=(${left_titles[@]+"${left_titles[@]}"})
}

# Wait for all; fail where one has failed.
finish() {
    while [ ${#pids[@]} -gt 0 ]; do
        sleep 0.3
        collect
    done
    [ ${#failures[@]} = 0 ] ||
        fail "failed: $(printf '%s; ' "${failures[@]}")the messages above say why; the same command continues"
}

interrupted() {
    local pid
    trap - INT TERM
    for pid in ${pids[@]+"${pids[@]}"}; do kill -TERM -- "-$pid" 2>/dev/null || true; done
    wait
    echo "$(basename "$0"): interrupted; the same command continues" >&2
    exit 130
}
trap interrupted INT TERM
