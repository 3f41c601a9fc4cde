#!/usr/bin/env bash
# The first check on a new GPU: does it compute the same as the CPU, with which kernels, and how fast?
#
#   scripts/gpu_check.sh                               everything, in at most ten minutes on one GPU
#   scripts/gpu_check.sh --only parity,kernels         some parts
#   scripts/gpu_check.sh --encodings alibi,xpos --json alibi.json
#
# Prints a table and writes each result at once to gpu_check.json (or --json FILE); docs/gpu.md explains both. Without a
# GPU, it measures a tiny model on the CPU. Exits with status 1 if results on the device differ from those on the CPU.
# All options: scripts/gpu_check.sh --options
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${VENV:-$root/.venv}/bin/python

case ${1:-} in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}" && exit ;;
    --options) set -- --help ;;
esac
if [ ! -x "$python" ]; then
    echo "gpu_check.sh: error: $python is missing; run scripts/setup.sh" >&2
    exit 2
fi
# PyTorch's profiler otherwise reports on standard error whenever it starts.
export KINETO_LOG_LEVEL=${KINETO_LOG_LEVEL:-7}
exec "$python" -m fairseq_posenc.cli gpu-check "$@"
