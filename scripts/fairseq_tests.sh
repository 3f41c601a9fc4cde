#!/usr/bin/env bash
# Run fairseq's own tests, with stock models and with our models in their place.
#
#   scripts/fairseq_tests.sh FOLDER                     all systems (a quarter of an hour on one core)
#   scripts/fairseq_tests.sh FOLDER stock rope          these systems
#
# FOLDER contains the folder tests of fairseq 0.12.2, which is not in its package; a checkout of fairseq's repository has
# it. The system "stock" is fairseq with fairseq_compat. It runs all tests of translation, language models, TorchScript
# export, generation, reproducibility and dropout. All other systems are encodings (with - or _); they run those of the
# tests that build a Transformer. No test is edited: scripts/fairseq_tests_plugin.py replaces the stock models by ours.
#
# Ends with status 0 if docs/compatibility.md explains every failure.
#   KEEP=FILE   keep the outcome of every test in FILE (tab-separated)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${VENV:-$root/.venv}/bin

fail() {
    echo "fairseq_tests.sh: error: $*" >&2
    exit 2
}

case ${1:-} in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}" && exit ;;
    "") fail "the folder with fairseq's tests is missing; see scripts/fairseq_tests.sh -h" ;;
esac
folder=$1
shift
systems=("$@")
[ $# -gt 0 ] || systems=(stock sinusoidal rope shaw alibi posnet_embed)
modules=(test_binaries test_export test_sequence_generator test_reproducibility test_inference_dropout)
for module in utils "${modules[@]}"; do
    [ -f "$folder/tests/$module.py" ] || fail "$folder has no tests/$module.py; give a folder with fairseq's tests"
done
[ -x "$bin/python" ] || fail "$bin/python is missing; run scripts/setup.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=$work/results.tsv
# A copy, because Python would import the fairseq of a checkout instead of the installed one.
cp -r "$folder/tests" "$work/tests"
tests=("tests/test_binaries.py::TestTranslation" "tests/test_binaries.py::TestLanguageModeling")
for module in "${modules[@]:1}"; do tests+=("tests/$module.py"); done

export PYTHONPATH="$root/scripts${PYTHONPATH:+:$PYTHONPATH}" OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
for system in "${systems[@]}"; do
    echo "fairseq_tests.sh: $system" >&2
    status=0
    (cd "$work" && "$bin/python" -m pytest -q --tb=short -W ignore -p no:cacheprovider -p fairseq_tests_plugin \
        --system "$system" --results "$results" "${tests[@]}") >"$work/$system.log" 2>&1 || status=$?
    # 1: some tests have failed, which the table shows; 2 and more: the tests could not run.
    if [ "$status" -gt 1 ]; then
        tail -n 30 "$work/$system.log" >&2
        fail "$system: pytest ended with status $status; the lines above say why"
    fi
done
[ -z "${KEEP:-}" ] || cp "$results" "$KEEP"
"$bin/python" "$root/scripts/fairseq_tests_plugin.py" "$results" "$root/docs/compatibility.md"
