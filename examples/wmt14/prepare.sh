#!/usr/bin/env bash
# From the network, or from files that are there, to the data that fairseq trains on.
#
#   prepare.sh en-de|en-fr [--data DIR] [--corpus multi30k|newstest] [--bpe subword_nmt|sentencepiece] [--mirror URL]...
#
# --data DIR    files that are already there, read only. SCALE=paper: WMT14's archives by their names; SCALE=small: the
#               .gz files of Multi30k or newstest. Without it they are downloaded (newstest has no download)
# --corpus      of SCALE=small; the other scripts take it as CORPUS=newstest
# --bpe         subword_nmt (default): 40,000 joint merges at SCALE=paper, 4,000 at small; sentencepiece: as many pieces
# --mirror URL  SCALE=paper: tried before statmt.org, for example https://mirror/path or file:///folder; may be repeated
# WORKERS=N     processes for tokens and subwords (default: all cores)
#
# Leaves $WORK/$SCALE/PAIR/{raw,prepared,binary}. Run it again to continue: finished steps are skipped, and a changed
# option does again what depends on it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
