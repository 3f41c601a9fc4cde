#!/usr/bin/env bash
# Prepare documents for training language models with fairseq.
#
#   prepare.sh stdlib                                 the source code of this Python's standard library: no download
#   prepare.sh wikitext-103 [--data DIR]              WikiText-103, articles split into subwords
#   prepare.sh wikitext-103-words [--data DIR]        WikiText-103, the original words (for size wiki103)
#   prepare.sh documents --data DIR [--name NAME]     the text files in a folder, one per document; then set CORPUS=NAME
#   prepare.sh text NAME --data DIR                   another text to evaluate on; then set TEXT=NAME
#
# --data DIR    WikiText: folder of its archive (default: download). Documents: folder of text files, plain or .gz; files
#               named train.*, valid.* and test.* are used as such, otherwise documents are held out
# --name NAME   name of the corpus (default: documents)
# --gpt2 DIR    use GPT-2's subwords; DIR has encoder.json and vocab.bpe. Default: sentencepiece learns subwords from
#               the training text: 50,000 at SCALE=paper, 4,000 at small, 500 at smoke
# --mirror URL  WikiText: tried before wikitext.smerity.com, for example file:///folder; may be repeated
# WORKERS=N     processes for subwords (default: all cores)
#
# Writes $WORK/$SCALE/CORPUS/{raw,prepared,binary}. Run it again to resume: finished steps are skipped, and a changed
# option repeats the steps that depend on it. "prepare.sh text" uses the subwords of CORPUS.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/recipe.sh"
recipe lm "$@"
