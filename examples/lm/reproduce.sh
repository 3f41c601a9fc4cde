#!/usr/bin/env bash
# Regenerate a table or figure of the xPos paper (Sun et al., ACL 2023) or the Sandwich paper (Chi et al., ACL 2023).
#
#   reproduce.sh WHAT [--data DIR] [--text NAME=DIR]... [--only NAME,NAME] [--gpt2 DIR] [--train] [--task N]
#
# WHAT: lex-figure1, lex-table2, lex-table6        perplexity by length: sinusoidal, ALiBi, RoPE, xPos with BCA
#       lex-table4, lex-table5                     the same: ablations of xPos; encodings with and without BCA
#       lex-table3                                 attention resolution
#       lex-figure2                                RoPE and xPos by distance (no training)
#       sandwich-table1, sandwich-table4           perplexity by length: shifted and equal ALiBi slopes, windows
#       sandwich-table2                            two of these, trained on longer samples
#       sandwich-table3                            seven encodings with significance
#       sandwich-table5                            Sandwich and ALiBi with a cache of 2,048 tokens
#       sandwich-figure4, -5, -6, -7, -11, -12, -13  receptive fields
#       sandwich-figure8, -9, -10                  Sandwich's bias by distance, with fitted log curves (no training)
#       all                                        perplexity by length: every encoding, full, windowed and blockwise
#
# --data        option of prepare.sh if the corpus has no data yet: archives, or documents for another CORPUS
# --gpt2        option of prepare.sh too: GPT-2's subwords, as in both papers
# --text        evaluate on these documents instead of the test text of the corpus; repeat for more
# --only        only these systems
# --train       only prepare and train
# --task N      only prepare, and train the N-th system (for job arrays)
#
# SCALE=paper|small|smoke; CORPUS=...; SEEDS="1 2" for several runs per system (default: as in the paper at
# SCALE=paper, else 1); JOBS=N trains N systems in parallel, with one thread each on the CPU; GPUS=N per run;
# TOKENS, DEVICE: as for evaluate.sh; PAPER=xpos|sandwich: whose settings and lengths "all" uses (default: sandwich);
# DRY_RUN=1 prints the commands.
#
# Writes to $WORK/$SCALE/CORPUS/results: WHAT.{json,md,tsv}, the table and the paper's; WHAT-TEXT.{png,pdf,tsv}, the
# figure; cells/WHAT-TEXT[-by-seed].json, all numbers. Run it again to resume.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
