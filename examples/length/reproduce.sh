#!/usr/bin/env bash
# Length generalisation: train systems on short examples of a task, and test them on longer ones.
#
#   reproduce.sh [WHAT] [--tasks NAME,NAME] [--only NAME,NAME]
#
# WHAT: encoder-decoder   (default) all encodings on six tasks, as translation          (rows/all.tsv)
#       decoder-only      the same systems as language models, on six tasks
#       kazemnejad        the tasks and encodings of Kazemnejad et al. (2023), next to their numbers
#                                                                                     (rows/kazemnejad.tsv)
#       bits              all encodings on tasks about bits, as translation
#
# --tasks   other tasks: copy, copy-twice, repeat, replace, reverse, sort, even-pairs, parity, first,
#           missing-duplicate, binary-addition, scan, passkey
# --only    only the rows with these names
#
# SCALE=small (default: three runs per system) or smoke (two tasks, three systems, in two minutes); SEEDS="1 2" for the
# seeds of the runs; UPDATES=N trains each system for N updates (default: of the scale); JOBS=N trains N systems in
# parallel, with one thread each on the CPU; DRY_RUN=1 prints the commands.
#
# Writes $WORK/$SCALE/results/WHAT.{json,md,tsv}, WHAT-lengths.tsv, and the figures WHAT-heat-map.{png,pdf,tsv} and
# WHAT-curves.{png,pdf,tsv}. Run it again to resume.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe length "$@"
