"""All patches; importing this package registers them, and imports neither torch nor numpy nor fairseq."""

from fairseq_compat.patches import (
    checkpoints,
    command_line,
    configurations,
    data_loading,
    dataclass_defaults,
    devices,
    encoder,
    huffman,
    language_models,
    masks,
    numpy_names,
    one_line_errors,
    overrides,
    precisions,
    settings,
)

__all__ = [
    "checkpoints",
    "command_line",
    "configurations",
    "data_loading",
    "dataclass_defaults",
    "devices",
    "encoder",
    "huffman",
    "language_models",
    "masks",
    "numpy_names",
    "one_line_errors",
    "overrides",
    "precisions",
    "settings",
]
