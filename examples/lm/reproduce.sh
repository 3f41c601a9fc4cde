#!/usr/bin/env bash
# Regenerate a table or figure of the xPos paper (Sun et al., ACL 2023) or the Sandwich paper (Chi et al., ACL 2023).
#
#   reproduce.sh WHAT [--data DIR] [--text NAME=DIR]... [--only NAME,NAME] [--gpt2 DIR] [--train]
#
# WHAT: lex-figure1, lex-table2, lex-table6        perplexity by length: sinusoidal, ALiBi, RoPE, xPos with BCA
#       lex-table4, lex-table5                     the same: ablations of xPos; encodings with and without BCA
#       lex-table3                                 attention resolution
#       lex-figure2                                RoPE and xPos against distance (no training)
#       sandwich-table1, sandwich-table4           perplexity by length: shifted and equal ALiBi slopes, windows
#       sandwich-table2                            two of these, trained on longer samples
#       sandwich-table3                            seven encodings with significance
#       sandwich-table5                            Sandwich and ALiBi with a cache of a few thousand tokens
#       sandwich-figure4, -5, -6, -7, -11, -12, -13  receptive fields
#       sandwich-figure8, -9, -10                  Sandwich's bias against distance, with log curves (no training)
#       all                                        perplexity by length: every encoding, full, windowed and blockwise
#
# --data        given to prepare.sh where the corpus has no data yet: archives, or documents for another CORPUS
# --gpt2        given to prepare.sh too: GPT-2's subwords, which both papers have
# --text        evaluate on these documents instead of the corpus's own test text; repeat for more
# --only        these systems only
# --train       prepare and train, and stop there
#
# SCALE=paper|small|smoke; CORPUS=...; SEEDS="1 2" for several runs per system (default: the paper's number at
# SCALE=paper, else 1); JOBS=N trains N systems side by side, with one thread each on the CPU; GPUS=N for each run;
# TOKENS, DEVICE: as in evaluate.sh; PAPER=xpos|sandwich: whose settings and lengths WHAT=all has (default: sandwich);
# DRY_RUN=1 prints the commands.
#
# Leaves in $WORK/$SCALE/CORPUS/results: WHAT.{json,md,tsv}, the table with the paper's beside it; WHAT-TEXT.{png,pdf,tsv},
# the figure; and cells/WHAT-TEXT[-by-seed].json, all numbers. Run it again to continue.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
