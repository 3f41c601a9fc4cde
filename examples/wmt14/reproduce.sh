#!/usr/bin/env bash
# Regenerate a table or figure of the PosNet paper (Zhang et al., ACL 2023), or what it did not measure.
#
#   reproduce.sh WHAT [--pairs en-de,en-fr] [--only NAME,NAME] [--data DIR] [--corpus multi30k|newstest]
#
# WHAT: table1   base model: BLEU, chrF++, parameters, speed of seven encodings     (rows/table1.tsv)
#       table2   big model: sinusoidal, shaw, posnet-embed                          (rows/table2.tsv)
#       all      base model: all encodings                                          (rows/all.tsv)
#       figure3  BLEU on the validation set against PosNet's kernel dimension       (rows/figure3.tsv)
#       figure4  table1's systems: gap over sinusoidal as the n-grams grow
#       lengths  all encodings: BLEU by source length, up to eight sentences joined to one
#       figure2  all encodings: time of the forward pass
#       table3   all encodings: peak memory of training
#
# --pairs  default: both; SCALE=smoke has en-de alone
# --only   rows of these names only
# --data   given to prepare.sh where a pair has no data yet; without it they are downloaded
#
# SCALE=paper|small|smoke; SEEDS="1 2" for several runs per system (tables and figure3); JOBS=N trains N systems side
# by side, with one thread each on the CPU; GPUS=N for each run; DRY_RUN=1 prints the commands.
#
# Leaves $WORK/$SCALE/results/WHAT.{json,md,tsv}, and for figures, lengths and table3 WHAT.{json,png,pdf,tsv}, with the
# pair in the name where there is one file per pair. Run it again to continue.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
