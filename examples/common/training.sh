# shellcheck shell=bash
# One training with fairseq-train: on any number of machines, once, and never two kinds in one folder. Sourced by a
# recipe's train.sh.
#
#   GPUS=N     processes on this machine, one a GPU (default: 1)
#   NNODES=N   machines (default: 1); then NODE_RANK=0..N-1, MASTER_ADDR=the first one's address, MASTER_PORT (29500)

GPUS=${GPUS:-1} NNODES=${NNODES:-1} NODE_RANK=${NODE_RANK:-0} MASTER_PORT=${MASTER_PORT:-29500}
check_count GPUS "$GPUS"
check_count NNODES "$NNODES"
processes=$((GPUS * NNODES))

# One process at the scales whose batch is made for one.
check_one_process() {
    [ "$processes" = 1 ] || fail "SCALE=$SCALE trains in one process, more would make its batch larger; leave GPUS out"
    export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}"
}

# Set launcher, the words in front of the options of fairseq-train.
set_launcher() {
    launcher=(fairseq-train)
    if [ "$NNODES" != 1 ]; then
        [ -n "${MASTER_ADDR:-}" ] || fail "NNODES=$NNODES needs MASTER_ADDR, the address of the first machine"
        case $NODE_RANK in
            *[!0-9]* | '') fail "NODE_RANK=$NODE_RANK is not a whole number" ;;
        esac
        [ "$NODE_RANK" -lt "$NNODES" ] || fail "NODE_RANK=$NODE_RANK is not below NNODES=$NNODES"
        launcher=(torchrun --nnodes "$NNODES" --node_rank "$NODE_RANK" --nproc_per_node "$GPUS")
        launcher+=(--master_addr "$MASTER_ADDR" --master_port "$MASTER_PORT" --no-python fairseq-train)
    elif [ "$GPUS" != 1 ]; then
        launcher=(torchrun --standalone --nproc_per_node "$GPUS" --no-python fairseq-train)
    fi
    need "${launcher[0]}"
}

# Run the function train in the folder, which it fills with checkpoints and train.log. Without a change it is done once;
# interrupted it continues: TITLE FOLDER MADE-OF. MADE-OF is what makes the model, its settings and words; machines and
# places may change between a start and a continuation.
train_once() {
    local title=$1 folder=$2 made_of=$3 running
    if [ "$DRY_RUN" = 1 ]; then
        run mkdir -p "$folder"
        train
        return
    fi
    if [ -f "$folder/settings" ] && [ "$(cat "$folder/settings")" != "$made_of" ]; then
        fail "$folder was trained with other settings or words ($folder/settings); give NAME=..., or remove the folder"
    fi
    mkdir -p "$folder"
    (DRY_RUN=1 && train) >"$folder/command"
    if [ -f "$folder/finished" ]; then
        echo "train $title: already done"
        return
    fi
    running=$folder/running-$(hostname)-$NODE_RANK
    if [ -f "$running" ] && kill -0 "$(cat "$running")" 2>/dev/null; then
        fail "process $(cat "$running") is training in $folder; wait for its end"
    fi
    echo $$ >"$running"
    # shellcheck disable=SC2064
    trap "rm -f $(quoted "$running")" EXIT
    printf '%s\n' "$made_of" >"$folder/settings"
    if [ "$QUIET" = 1 ]; then
        train 2>&1 | tee -a "$folder/train.out" | progress "$title" || {
            tail -n 20 "$folder/train.out" >&2
            echo "$(basename "$0"): error: training $title failed; its output is $folder/train.out" >&2
            exit 1
        }
    else
        train
    fi
    touch "$folder/finished"
}

# From fairseq's log, one line a validation.
progress() {
    local line epoch loss updates
    while IFS= read -r line; do
        case $line in
            *'| INFO | valid | {'*) ;;
            *) continue ;;
        esac
        epoch=${line#*\"epoch\": } loss=${line#*\"valid_loss\": \"} updates=${line#*\"valid_num_updates\": \"}
        echo "$1: epoch ${epoch%%,*}, update ${updates%%\"*}, validation loss ${loss%%\"*}"
    done
}
