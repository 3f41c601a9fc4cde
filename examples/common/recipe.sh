# shellcheck shell=bash
# The beginning of every script of the recipes: help, environment, and the Python module to run. Sourced.
#
#   VENV  the environment that scripts/setup.sh made (default: .venv in the repository)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
VENV=${VENV:-$root/.venv}
PATH=$VENV/bin:$PATH
PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
export VENV PATH PYTHONPATH

# -h or --help anywhere among the arguments prints the comment at the top of the script.
for argument in "$@"; do
    case $argument in
        -h | --help)
            sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p;}' "$0"
            exit 0
            ;;
    esac
done

# Run this script's function of a recipe: recipe RECIPE [ARGUMENT]...
recipe() {
    local recipe=$1 script
    shift
    script=$(basename "$0")
    if ! command -v python >/dev/null 2>&1; then
        echo "$script: error: python not found in $VENV/bin or PATH; run scripts/setup.sh" >&2
        exit 2
    fi
    exec python -m "examples.$recipe" "${script%.sh}" "$@"
}
