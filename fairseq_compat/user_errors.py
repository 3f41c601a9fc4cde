"""Common user errors, explained in one line. Errors that are unknown here keep their traceback."""

import re

_SIZES = re.compile(
    r"size mismatch for (\S*(?:embed_tokens|output_projection)\S*): copying a param with shape "
    r"torch\.Size\(\[(\d+), (\d+)\]\) from checkpoint, the shape in current model is torch\.Size\(\[(\d+), (\d+)\]\)"
)

_TOO_LONG = re.compile(
    r"Size of sample #(\d+) is invalid \(=\(?([\d, ]+)\)?\) since max_positions=\(?([\d, ]+)\)?, "
    r"skip this example with (\S+)"
)

# fairseq's errors about half precision with other flags, raised after data and model have been loaded.
_HALF_PRECISION = (
    (
        r"Unsupported optimizer: (\w+)$",
        "--memory-efficient-fp16 and --memory-efficient-bf16 do not support the optimizer {}; give --fp16 or --bf16, "
        "or --optimizer adam",
    ),
    (
        r"chosen optimizer (\w+) does not support flat params",
        "--fp16 joins all parameters into one tensor, which {} does not support; add --fp16-no-flatten-grads",
    ),
    (
        r"--fp16-scale-window must be given explicitly",
        "--fp16 with a changing --update-freq needs --fp16-scale-window, the number of updates after which the loss "
        "scale grows; 16384 suits one GPU",
    ),
)


def explain(error):
    """Return the explanation of ``error`` or of its cause; None if it is not a known user error."""
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
    if type(error) is Exception:
        return _language_pair(error) or _long_sample(error)
    return _tokenizer_languages(error)


def _last_line(error):
    """The last line of an error: errors of data loading processes start with the traceback of that process."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return re.sub(rf"^(\w+\.)*{type(error).__name__}: ", "", lines[-1])


def _missing_file(error):
    if error.filename is not None:
        return f"{error.filename}: no such file or directory; correct the path, or create the file first"
    dataset = re.fullmatch(r"Dataset not found: (\S+) \((.*)\)", str(error))
    if dataset:
        split, path = dataset.groups()
        return f"no data for split '{split}' at {path}; make it with fairseq-preprocess, or give another data directory"
    return f"file not found: {_last_line(error)}; correct the path, or create the file first"


def _directory(error):
    return f"{error.filename} is a directory; give a file" if error.filename else None


def _not_permitted(error):
    return (
        f"{error.filename}: permission denied; choose another path or change the permissions"
        if error.filename
        else None
    )


def _not_utf8(error):
    return (
        f"a text is not UTF-8: byte 0x{error.object[error.start]:02x} at byte {error.start + 1} of the input; "
        "convert it, for example with iconv"
    )


def _existing_file(error):
    return f"{error.filename or error} exists already and was not changed; move it away, or choose another --destdir"


def _model_file(error):
    if str(error).startswith("Model file not found: "):
        return f"{str(error)[0].lower()}{str(error)[1:]}; correct --path, or train the model first"
    return None


def _dictionary(error):
    """If only the number of rows differs, the dictionary is wrong; if the width differs, keep the traceback."""
    for name, rows, width, rows_now, width_now in _SIZES.findall(str(error)):
        if width == width_now and rows != rows_now:
            return (
                f"the checkpoint's dictionary has {rows} types but the data's has {rows_now} ({name}); "
                "use the dict.*.txt files the model was trained with"
            )
    return None


def _half_precision(error):
    for pattern, line in _HALF_PRECISION:
        match = re.match(pattern, str(error))
        if match is not None:
            return line.format(*match.groups())
    return None


def _language_pair(error):
    if str(error).startswith("Could not infer language pair"):
        return (
            "no SPLIT.SOURCE-TARGET.* files in the data directory; make them with fairseq-preprocess, "
            "or give the languages with --source-lang and --target-lang"
        )
    return None


def _tokenizer_languages(error):
    """Hydra's error for a tokenizer that takes the languages of the data, which fairseq infers only later."""
    if re.match(r"Error merging override tokenizer\.(source|target)_lang=null", str(error)):
        return "--tokenizer needs the languages; give --source-lang and --target-lang"
    return None


def _long_sample(error):
    """A sentence pair or a block of text that is longer than the positions of model and task."""
    # NumPy 2 prints its numbers as np.int32(7).
    match = _TOO_LONG.match(re.sub(r"np\.int\d+\((\d+)\)", r"\1", str(error)))
    if match is None:
        return None
    sample, size, limit, skip = match.groups()
    kinds = ("source ", "target ") if "," in size else ("",)
    counts = [
        f"{count} {kind}tokens but at most {most} fit"
        for kind, count, most in zip(kinds, size.split(", "), limit.split(", "))
        if int(count) > int(most)
    ]
    return (
        f"sample {sample} has {' and '.join(counts)}; shorten it, raise --max-source-positions, "
        f"--max-target-positions or --tokens-per-sample if the positional encoding has no such limit, "
        f"or skip such samples with {skip}"
    )


def _assertion(error):
    """fairseq-score asserts that its files exist."""
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
