"""What users get wrong, told in one line. Whatever is not known here keeps its traceback."""

import re

_SIZES = re.compile(
    r"size mismatch for (\S*(?:embed_tokens|output_projection)\S*): copying a param with shape "
    r"torch\.Size\(\[(\d+), (\d+)\]\) from checkpoint, the shape in current model is torch\.Size\(\[(\d+), (\d+)\]\)"
)

_TOO_LONG = re.compile(
    r"Size of sample #(\d+) is invalid \(=\(?([\d, ]+)\)?\) since max_positions=\(?([\d, ]+)\)?, "
    r"skip this example with (\S+)"
)

# What fairseq says, once data and model are there, of half precision with other flags.
_HALF_PRECISION = (
    (
        r"Unsupported optimizer: (\w+)$",
        "--memory-efficient-fp16 and --memory-efficient-bf16 do not go with the optimizer {}; give --fp16 or --bf16, "
        "or --optimizer adam",
    ),
    (
        r"chosen optimizer (\w+) does not support flat params",
        "--fp16 joins all parameters into one tensor, which {} does not take; add --fp16-no-flatten-grads",
    ),
    (
        r"--fp16-scale-window must be given explicitly",
        "--fp16 with --update-freq that changes needs --fp16-scale-window, the updates after which the loss scale "
        "grows; 16384 suits one GPU",
    ),
)


def explain(error):
    """Return the line for ``error`` or for what caused it; None where it is no known mistake of a user."""
    seen = []
    while error is not None and error not in seen:
        line = _explain_one(error)
        if line is not None:
            return line
        seen.append(error)
        error = error.__cause__ or error.__context__
    return None


def _explain_one(error):
    if getattr(type(error), "one_line", False):
        return _last_line(error)
    for kind, explain_kind in _KINDS:
        if isinstance(error, kind):
            return explain_kind(error)
    return _language_pair(error) or _long_sample(error) if type(error) is Exception else None


def _last_line(error):
    """An error from a data loading process arrives with that process's traceback before its message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return re.sub(rf"^(\w+\.)*{type(error).__name__}: ", "", lines[-1])


def _missing_file(error):
    if error.filename is not None:
        return f"{error.filename}: no such file or directory; correct the path, or make the file first"
    dataset = re.fullmatch(r"Dataset not found: (\S+) \((.*)\)", str(error))
    if dataset:
        split, place = dataset.groups()
        return (
            f"no data for split '{split}' at {place}; make it with fairseq-preprocess, or name another data directory"
        )
    return f"file not found: {_last_line(error)}; correct the path, or make the file first"


def _directory(error):
    return f"{error.filename} is a directory; give a file" if error.filename else None


def _not_permitted(error):
    return f"{error.filename}: permission denied; give a place that you may use" if error.filename else None


def _not_utf8(error):
    return (
        f"a text is not UTF-8: byte 0x{error.object[error.start]:02x} at byte {error.start + 1} of what was read; "
        "convert it, for example with iconv"
    )


def _existing_file(error):
    return f"{error.filename or error} exists already and is kept; move it away, or choose another --destdir"


def _model_file(error):
    if str(error).startswith("Model file not found: "):
        return f"{str(error)[0].lower()}{str(error)[1:]}; correct --path, or train the model first"
    return None


def _dictionary(error):
    """Where only the number of rows differs, it is the dictionary; where the width does, the model: a traceback."""
    for name, rows, width, rows_now, width_now in _SIZES.findall(str(error)):
        if width == width_now and rows != rows_now:
            return (
                f"the checkpoint's dictionary has {rows} types but the data's has {rows_now} ({name}); "
                "use the dict.*.txt files the model was trained with"
            )
    return None


def _half_precision(error):
    for pattern, line in _HALF_PRECISION:
        found = re.match(pattern, str(error))
        if found is not None:
            return line.format(*found.groups())
    return None


def _language_pair(error):
    if str(error).startswith("Could not infer language pair"):
        return (
            "no SPLIT.SOURCE-TARGET.* files in the data directory; make them with fairseq-preprocess, "
            "or name the languages with --source-lang and --target-lang"
        )
    return None


def _long_sample(error):
    """A sentence pair or a block of text beyond the positions of model and task."""
    # NumPy 2 prints its numbers as np.int32(7).
    found = _TOO_LONG.match(re.sub(r"np\.int\d+\((\d+)\)", r"\1", str(error)))
    if found is None:
        return None
    sample, size, limit, skip = found.groups()
    kinds = ("source ", "target ") if "," in size else ("",)
    counts = [
        f"{count} {kind}tokens where at most {most} fit"
        for kind, count, most in zip(kinds, size.split(", "), limit.split(", "))
        if int(count) > int(most)
    ]
    return (
        f"sample {sample} has {' and '.join(counts)}; shorten it, raise --max-source-positions, "
        f"--max-target-positions or --tokens-per-sample if the positional encoding has no such limit, "
        f"or leave such samples out with {skip}"
    )


def _assertion(error):
    """fairseq-score asserts that its files are there."""
    missing = re.fullmatch(r"((?:System output|Reference) file .*) does not exist", str(error))
    return f"{missing.group(1)} does not exist; correct the path" if missing else None


def _missing_part(error):
    """A compiled part that fairseq's source release lacks."""
    missing = re.match(r"cannot import name '(libnat|libbase)' from 'fairseq'", str(error))
    return f"fairseq.{missing.group(1)} is not built; `fairseq-posenc doctor` says how to build it" if missing else None


_KINDS = (
    (ImportError, _missing_part),
    (FileNotFoundError, _missing_file),
    (FileExistsError, _existing_file),
    (IsADirectoryError, _directory),
    (PermissionError, _not_permitted),
    (UnicodeDecodeError, _not_utf8),
    (OSError, _model_file),
    (RuntimeError, lambda error: _dictionary(error) or _half_precision(error)),
    (ValueError, _half_precision),
    (AssertionError, _assertion),
)
