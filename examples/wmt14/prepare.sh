#!/usr/bin/env bash
# Download text, or take it from files, and prepare it for training with fairseq.
#
#   prepare.sh en-de|en-fr [--data DIR] [--corpus multi30k|newstest] [--bpe subword_nmt|sentencepiece] [--mirror URL]...
#
# --data DIR    folder of files that you already have; it is only read. SCALE=paper: WMT14's archives, under their names;
#               SCALE=small: the .gz files of Multi30k or newstest (default: download; newstest cannot be downloaded)
# --corpus      corpus of SCALE=small; for the other scripts, set CORPUS=newstest
# --bpe         subword_nmt (default): 40,000 joint merges at SCALE=paper, 4,000 at small; sentencepiece: as many pieces
# --mirror URL  SCALE=paper: tried before statmt.org, for example https://mirror/path or file:///folder; may be repeated
# WORKERS=N     processes for tokens and subwords (default: all cores)
#
# Writes $WORK/$SCALE/PAIR/{raw,prepared,binary}. Run it again to resume: finished steps are skipped, and a changed
# option repeats the steps that depend on it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
