#!/usr/bin/env bash
# Perplexity of trained systems by the length of text that they read.
#
#   evaluate.sh xpos|sandwich|adaptive NAME,NAME,.. [options of fairseq-posenc extrapolate]
#
# The first word is the PAPER that the systems were trained with. Its protocol and lengths are the defaults: xpos takes
# the text in pieces of a quarter to eight times the training length, sandwich the last token of segments of one to
# sixteen times it. Options that follow replace them: --patterns full,blockwise:1024, --lengths, --protocol, --json, ...
#
# SIZE=...      of the systems (default: that of the paper, tiny at SCALE=small and smoke)
# SEEDS="1 2"   of the runs (default: SEED)
# TEXT=NAME     what is read: test (default), or a text that prepare.sh text made
# TOKENS=N      of the text in pieces (default: 229,376 at SCALE=paper, 49,152 at small, 16,384 at smoke); all: all of it
# QUIET=1       print no table
# DEVICE=...    cpu or cuda (default: cuda at SCALE=paper, else cpu)
#
# Leaves $WORK/$SCALE/CORPUS/results/cells/PAPER-SIZE-TEXT.json, or what --json names, from $WORK/$SCALE/CORPUS. The same
# command does what is left; other systems, patterns or lengths are added.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
