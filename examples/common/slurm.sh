# shellcheck shell=bash
# What train.sh of a recipe needs to know about a SLURM job: its machines, GPUs, and the address of the first machine.
# Sourced by the scripts that are submitted, from the root of the repository.

export NNODES=$SLURM_JOB_NUM_NODES GPUS=${SLURM_GPUS_ON_NODE:-1}
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
# A port of the job's own, as two jobs may share the first machine.
MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
export MASTER_ADDR MASTER_PORT
