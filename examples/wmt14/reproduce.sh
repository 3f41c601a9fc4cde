#!/usr/bin/env bash
# Regenerate a table or figure of the PosNet paper (Zhang et al., ACL 2023), or make one that the paper does not have.
#
#   reproduce.sh WHAT [--pairs en-de,en-fr] [--only NAME,NAME] [--data DIR] [--corpus multi30k|newstest] [--task N]
#
# WHAT: table1   base model: BLEU, chrF++, parameters, speed of seven encodings     (rows/table1.tsv)
#       table2   big model: sinusoidal, shaw, posnet-embed                          (rows/table2.tsv)
#       all      base model: all encodings                                          (rows/all.tsv)
#       swap     trained sinusoidal, in which another encoding takes its place      (rows/swap.tsv)
#       posnet   posnet-embed initialised, shared and placed in other ways          (rows/posnet.tsv)
#       figure3  BLEU on the validation set by PosNet's kernel dimension            (rows/figure3.tsv)
#       figure4  systems of table1: gap to sinusoidal by the order of n-grams
#       lengths  all encodings: BLEU and brevity ratio by source length, with up to eight sentences joined into one
#       positions  the same for encodings x numbers of positions x training texts  (rows/positions.tsv)
#       figure2  all encodings: time of the forward pass
#       table3   all encodings: peak memory of training
#
# --pairs   default: both; SCALE=smoke has only en-de
# --only    only the rows with these names
# --data    option of prepare.sh if a pair has no data yet; without it, they are downloaded
# --corpus  of SCALE=small (default: CORPUS, or multi30k)
# --task N  only prepare, and train and translate the N-th row (for job arrays)
#
# SCALE=paper|small|smoke; SEEDS="1 2" for several runs per system (not figure4); JOBS=N trains N systems in parallel,
# with one thread each on the CPU; GPUS=N per run; DRY_RUN=1 prints the commands.
#
# Writes $WORK/$SCALE/results/WHAT.{json,md,tsv}, and for figures, lengths, positions and table3
# WHAT.{json,png,pdf,tsv}, with the pair in the name if there is one file per pair. lengths and positions also write the
# tables WHAT-bands-PAIR.{json,md,tsv} and draw them as WHAT-map-PAIR.{png,pdf,tsv}. Run it again to resume.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe wmt14 "$@"
