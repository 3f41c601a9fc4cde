#!/usr/bin/env bash
# Perplexity of trained systems by the length of the text.
#
#   evaluate.sh xpos|sandwich|adaptive NAME,NAME,.. [options of fairseq-posenc extrapolate]
#
# The first argument is the PAPER whose settings the systems were trained with. It sets the default protocol and lengths:
# xpos evaluates the text in pieces of 1/4 to 8 times the training length; sandwich evaluates the last token of segments
# of 1 to 16 times the training length. Options replace the defaults: --patterns full,blockwise:1024, --lengths,
# --protocol, --json, ...
#
# SIZE=...      size of the systems (default: that of the paper; tiny at SCALE=small and smoke)
# SEEDS="1 2"   seeds of the training runs (default: SEED)
# TEXT=NAME     text to evaluate on: test (default), or a text from "prepare.sh text"
# TOKENS=N      tokens to evaluate in pieces (default: 229,376 at SCALE=paper, 49,152 at small, 16,384 at smoke), or all
# QUIET=1       print no table
# DEVICE=...    cpu or cuda (default: cuda at SCALE=paper, else cpu)
#
# Writes $WORK/$SCALE/CORPUS/results/cells/PAPER-SIZE-TEXT.json, or the file of --json (relative to $WORK/$SCALE/CORPUS).
# Run it again to resume, or to add other systems, patterns or lengths to the file.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
