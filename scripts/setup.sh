#!/usr/bin/env bash
# Makes a virtual environment with everything that fairseq_posenc needs. Run it again at any time: it does only what is missing.
#
#   scripts/setup.sh
#
#   VENV=DIR       where the environment goes (default: .venv in the repository)
#   PYTHON=python  the interpreter that makes it (default: python3; Python 3.10 or newer)
#   TORCH=SPEC     the PyTorch to install, for example TORCH=torch==2.8.0 (2.6 or newer). Default: the one that PYTHON
#                  has, else a CPU build on a machine without an NVIDIA GPU where one can be had, else the default build
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV="${VENV:-$PWD/.venv}"
PYTHON="${PYTHON:-python3}"
FAIRSEQ="fairseq==0.12.2"
OLDEST_TORCH=2.6 # the first that loads checkpoints without running code from them
WANTED_TORCH="${TORCH:-torch>=$OLDEST_TORCH}"
export PIP_DISABLE_PIP_VERSION_CHECK=1

fail() {
  echo "setup.sh: error: $*" >&2
  exit 1
}

# Say what is done, do it, say how long it took; show the output only where it fails.
step() {
  local title="$1" log started=$SECONDS
  shift
  log="$(mktemp)"
  printf 'setup.sh: %s ... ' "$title"
  if "$@" >"$log" 2>&1; then
    echo "$((SECONDS - started)) s"
    rm -f "$log"
  else
    echo "failed"
    cat "$log" >&2
    rm -f "$log"
    fail "$title failed; the lines above say why"
  fi
}

# The same for what few need: where it fails, say why in one line, and go on.
optional_step() {
  local title="$1" needed_for="$2" log started=$SECONDS
  shift 2
  log="$(mktemp)"
  printf 'setup.sh: %s ... ' "$title"
  if "$@" >"$log" 2>&1; then
    echo "$((SECONDS - started)) s"
  else
    echo "left out; only $needed_for need it ($(tail -n 1 "$log" | cut -c1-200))"
  fi
  rm -f "$log"
}

python() { "$VENV_PYTHON" "$@"; }
pip() { python -m pip "$@"; }
can_import() { python -c "import $1" >/dev/null 2>&1; }

# ---- what an earlier run completed -------------------------------------------------------------------------------
if [ -x "$VENV/bin/python" ]; then VENV_PYTHON="$VENV/bin/python"; else VENV_PYTHON="$VENV/Scripts/python.exe"; fi
STAMP="$VENV/fairseq-posenc-setup.stamp"
fingerprint() { cat setup.py pyproject.toml scripts/setup.sh scripts/build_extensions.py scripts/installed.py fairseq_compat/startup/* | cksum | tr -d '\n'; echo " $PWD ${TORCH:-}"; }
if [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$(fingerprint)" ] && python -c "
import importlib.util as i, sys
sys.exit(not all(i.find_spec(name) for name in ('torch', 'fairseq', 'fairseq_posenc', 'fairseq_compat', 'pytest')))"; then
  echo "setup.sh: $VENV is up to date"
  exit 0
fi

is_older_torch() { [ "$(printf '%s\n' "$1" "$OLDEST_TORCH" | sort -V | head -n 1)" != "$OLDEST_TORCH" ]; }
case "${TORCH:-}" in
  torch==*) ! is_older_torch "${TORCH#torch==}" || fail "TORCH=$TORCH, but PyTorch $OLDEST_TORCH or newer is needed; name one" ;;
esac

# A new environment sees the packages of a plain installation of Python, but not those of another environment.
torch_of_python() {
  local version
  version=$("$PYTHON" -c 'import sys; assert sys.prefix == sys.base_prefix; import torch; print(torch.__version__)' 2>/dev/null) &&
    ! is_older_torch "$version"
}

# ---- Python and the environment ----------------------------------------------------------------------------------
if [ ! -e "$VENV_PYTHON" ]; then
  command -v "$PYTHON" >/dev/null || fail "$PYTHON not found; install Python 3.10 or newer, or name one with PYTHON=..."
  "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$PYTHON is $("$PYTHON" --version 2>&1), but Python 3.10 or newer is needed; name one with PYTHON=..."
  if [ -z "${TORCH:-}" ] && torch_of_python; then
    step "making $VENV on top of the PyTorch of $PYTHON" "$PYTHON" -m venv --system-site-packages "$VENV"
  else
    step "making $VENV" "$PYTHON" -m venv "$VENV"
  fi
  if [ -x "$VENV/bin/python" ]; then VENV_PYTHON="$VENV/bin/python"; else VENV_PYTHON="$VENV/Scripts/python.exe"; fi
fi
python -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  fail "$VENV has $(python --version 2>&1), but Python 3.10 or newer is needed; remove it and run again with PYTHON=..."

# ---- PyTorch -----------------------------------------------------------------------------------------------------
# A wheel that pip's configuration finds on this disk is taken before any download.
torch_from_disk() { pip install --no-index --no-deps "$WANTED_TORCH" && pip install "$(torch_installed)"; }
torch_installed() { python -c 'from importlib.metadata import version; print("torch==" + version("torch"))'; }
torch_cpu() {
  case "$(uname -s)" in
    # Where PyTorch's own index cannot be reached, the ordinary one has a build that also runs without a GPU.
    Linux)
      pip install "$WANTED_TORCH" --index-url https://download.pytorch.org/whl/cpu --retries 1 --timeout 10 ||
        pip install "$WANTED_TORCH"
      ;;
    *) pip install "$WANTED_TORCH" ;; # the default builds of macOS and Windows are CPU builds
  esac
}
install_torch() {
  if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then
    pip install "$WANTED_TORCH"
  else
    torch_from_disk || torch_cpu
  fi
}
torch_is_wanted() { python scripts/installed.py torch "$WANTED_TORCH" >/dev/null 2>&1; }
if ! can_import torch || ! torch_is_wanted; then step "installing ${TORCH:-PyTorch}" install_torch; fi

# From here on nothing may bring a second PyTorch.
CONSTRAINTS="$VENV/fairseq-posenc-constraints.txt"
torch_installed >"$CONSTRAINTS"
echo "setup.sh: $(cat "$CONSTRAINTS")"

# ---- fairseq -----------------------------------------------------------------------------------------------------
can_import numpy || step "installing NumPy" pip install -c "$CONSTRAINTS" numpy

fairseq_is_built() { python scripts/installed.py fairseq; }
if ! fairseq_is_built >/dev/null 2>&1; then
  command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v cl.exe >/dev/null ||
    fail "no C++ compiler, which fairseq needs; install one (Debian, Ubuntu: apt-get install g++ python3-dev; Fedora: dnf install gcc-c++ python3-devel; macOS: xcode-select --install)"
  step "building $FAIRSEQ (about half a minute)" pip install --no-deps --force-reinstall "$FAIRSEQ"
  fairseq_is_built || fail "fairseq was installed without its compiled parts; see above"
fi

# ---- this package ------------------------------------------------------------------------------------------------
step "installing fairseq-posenc and what it needs" pip install -c "$CONSTRAINTS" -e ".[plots,test]"

step "importing fairseq's compiled parts" python -c "
import fairseq.data.data_utils_fast, fairseq.data.token_block_utils_fast, fairseq.libbleu"
can_import fairseq.libnat ||
  optional_step "building fairseq's libnat" "insertion and Levenshtein Transformers" python scripts/build_extensions.py
python -m fairseq_posenc.cli doctor --quiet || fail "the check above found something missing"
fingerprint >"$STAMP"
echo "setup.sh: done in $SECONDS s; activate with: source $VENV/bin/activate"
