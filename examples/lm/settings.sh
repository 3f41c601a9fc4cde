# shellcheck shell=bash
# What the recipes of this folder share: scale, places, names, lengths. Sourced, never run.
#
#   SCALE    paper: the papers' models, GPUs | small: a tiny model, CPU | smoke: a toy, seconds a system
#   CORPUS   stdlib, wikitext-103, wikitext-103-words, or the name of a folder of documents that prepare.sh was given
#            (default: wikitext-103 at SCALE=paper, else stdlib)
#   TEXT     what is evaluated: test (default), the corpus's own held-out text, or the name of one that prepare.sh text made
#   PAPER    xpos, sandwich or adaptive: whose settings a system is trained with
#   WORK     where everything is written (default: work/lm in the repository)
#   DRY_RUN  1: print the commands instead of running them
#   SEED     of the training (default: 1)
#   QUIET    1: messages of fairseq to files, one line a step on the terminal
#   VENV     the environment that scripts/setup.sh made (default: .venv in the repository)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
SCALE=${SCALE:-paper}
WORK=${WORK:-$root/work/lm}
DRY_RUN=${DRY_RUN:-0}
SEED=${SEED:-1}
QUIET=${QUIET:-0}
VENV=${VENV:-$root/.venv}
source "$root/examples/common/shell.sh"

case $SCALE in
    paper) CORPUS=${CORPUS:-wikitext-103} ;;
    small | smoke) CORPUS=${CORPUS:-stdlib} ;;
    *) fail "SCALE=$SCALE is not one of paper, small, smoke" ;;
esac

# A name that may be a folder's: WHAT NAME.
check_name() {
    case $2 in
        '' | [!A-Za-z0-9]* | *[!A-Za-z0-9._-]*)
            fail "$1 $2 is no name: give letters, digits, '.', '_' and '-', a letter or a digit first"
            ;;
    esac
}
check_name CORPUS "$CORPUS"
TEXT=${TEXT:-test}
check_name TEXT "$TEXT"
check_count SEED "$SEED"
case $WORK in
    /*) ;;
    *) WORK=$PWD/$WORK ;;
esac
home=$WORK/$SCALE/$CORPUS

check_size() {
    case $1 in
        tiny | base | gpt2_medium | wiki103) ;;
        *) fail "size $1 is not one of tiny, base, gpt2_medium, wiki103" ;;
    esac
    [ "$SCALE" = paper ] || [ "$1" = tiny ] || fail "SCALE=$SCALE trains size tiny, but size is $1; give tiny, or SCALE=paper"
}

# Whose settings a size is trained with, unless PAPER says it.
paper_of_size() {
    case ${PAPER:-$1} in
        xpos | gpt2_medium) echo xpos ;;
        sandwich | base | tiny) echo sandwich ;;
        adaptive | wiki103) echo adaptive ;;
        *) fail "PAPER=$PAPER is not one of xpos, sandwich, adaptive" ;;
    esac
}

size_of_paper() {
    case $SCALE-$1 in
        paper-xpos) echo gpt2_medium ;;
        paper-sandwich) echo base ;;
        paper-adaptive) echo wiki103 ;;
        *) echo tiny ;;
    esac
}

# The length of the training samples in tokens, as the paper has it and at this scale.
paper_length() { # PAPER
    case $1 in
        xpos) echo 1024 ;;
        sandwich) echo 512 ;;
        adaptive) echo 3072 ;;
    esac
}
training_length() { # PAPER
    case $SCALE in
        paper) paper_length "$1" ;;
        small) echo $(($(paper_length "$1") / 4)) ;;
        smoke) echo $(($(paper_length "$1") / 32)) ;;
    esac
}

# A text in which the numbers of tokens @N, meant for samples of OF tokens, are for samples of TO tokens: OF TO TEXT
scaled() {
    local of=$1 to=$2 text=$3 before tokens
    while [[ $text =~ @([0-9]+) ]]; do
        tokens=$(((BASH_REMATCH[1] * to + of / 2) / of))
        before=${text%%"${BASH_REMATCH[0]}"*}
        text=$before$((tokens > 0 ? tokens : 1))${text#"$before${BASH_REMATCH[0]}"}
    done
    echo "$text"
}

# The folder of one trained system.
system_folder() { # NAME PAPER SIZE
    echo "$home/$2-$3/$1/seed$SEED"
}

check_binary() {
    [ "$DRY_RUN" = 1 ] || [ -d "$home/binary" ] ||
        fail "no data in $home/binary; make it: SCALE=$SCALE WORK=$WORK $here/prepare.sh $(preparation)"
}

# The arguments of prepare.sh for this corpus.
preparation() {
    case $CORPUS in
        stdlib | wikitext-103 | wikitext-103-words) echo "$CORPUS" ;;
        *) echo "documents --name $CORPUS --data DIR" ;;
    esac
}
