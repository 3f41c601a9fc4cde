#!/usr/bin/env bash
# From documents to the data that fairseq trains language models on.
#
#   prepare.sh stdlib                                 the source code of this Python's standard library: no download
#   prepare.sh wikitext-103 [--data DIR]              WikiText-103, articles cut into subwords
#   prepare.sh wikitext-103-words [--data DIR]        WikiText-103, its own words (for size wiki103)
#   prepare.sh documents --data DIR [--name NAME]     the text files in a folder, one per document; then CORPUS=NAME
#   prepare.sh text NAME --data DIR                   text to evaluate on, with the subwords of CORPUS; then TEXT=NAME
#
# --data DIR    WikiText: the folder of its archive; without it, it is downloaded. Documents: .txt files or others, .gz or
#               not; named train.*, valid.*, test.*, or divided here
# --name NAME   of the corpus (default: documents)
# --gpt2 DIR    cut into GPT-2's subwords; DIR has encoder.json and vocab.bpe. Without it sentencepiece learns subwords on
#               the training text: 50,000 at SCALE=paper, 4,000 at small, 500 at smoke
# --mirror URL  WikiText: tried before wikitext.smerity.com, for example file:///folder; may be repeated
# WORKERS=N     processes for subwords (default: all cores)
#
# Leaves $WORK/$SCALE/CORPUS/{raw,prepared,binary}. Run it again to continue: finished steps are skipped, and a changed
# option does again what depends on it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
