"""The options of ``fairseq-posenc bench`` that say what models of stock fairseq and of this package compute."""

from fairseq_posenc.errors import InputError

TASKS = ("translation", "language_modeling")
#: Upper limits of options; larger values fit no machine.
MOST = {
    "vocabulary": 10_000_000,
    "length": 1_000_000,
    "sentences": 1_000_000,
    "beam": 1000,
    "batches": 1_000_000,
    "rounds": 10_000,
}


def check_numbers(args, least=None):
    """Raise InputError for an option of MOST that is too small or too large; ``least``: {option: minimum}, else 1."""
    for argument in MOST:
        value, minimum = getattr(args, argument), (least or {}).get(argument, 1)
        if value is not None and value < minimum:
            raise InputError(f"--{argument} must be at least {minimum}, but is {value}")
        if value is not None and value > MOST[argument]:
            raise InputError(f"--{argument} must be at most {MOST[argument]}, but is {value}")


def workload_of(args):
    """The Translation or LanguageModels of these options. Raises InputError for an unknown size."""
    from fairseq_posenc.analysis.workload import LanguageModels, Translation
    from fairseq_posenc.models import language_model, transformer

    translates = args.task == "translation"
    kind = Translation if translates else LanguageModels
    size = args.size or kind.size
    # wiki103 has an adaptive softmax, so there are no logits for a plain cross-entropy.
    sizes = transformer.SIZES if translates else [name for name in language_model.SIZES if name != "wiki103"]
    if size not in sizes:
        raise InputError(f"--size must be one of {', '.join(sizes)}, but is {size}")
    return kind(
        vocab_size=args.vocabulary,
        device=args.device,
        precision=args.precision,
        size=size,
        length=args.length,
        sentences=args.sentences,
        beam=args.beam,
    )
