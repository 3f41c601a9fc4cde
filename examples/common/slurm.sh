# shellcheck shell=bash
# What the scripts for SLURM share. Sourced from the root of the repository, because SLURM runs a copy of the script.

export GPUS=${SLURM_GPUS_ON_NODE:-1}

# Train one system on all machines of a job: train RECIPE [ARGUMENT]...
train() {
    local recipe=$1
    shift
    export NNODES=$SLURM_JOB_NUM_NODES
    MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    # Each job has its own port, because two jobs may share the first machine.
    MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
    export MASTER_ADDR MASTER_PORT
    # SLURM_NODEID is set on each machine only.
    # shellcheck disable=SC2016
    exec srun bash -c 'NODE_RANK=$SLURM_NODEID exec "$0" "$@"' "examples/$recipe/train.sh" "$@"
}
