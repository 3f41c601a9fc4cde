"""Names and options that NumPy has removed."""

import inspect
import types
import warnings

from fairseq_compat.overlay import Overlay
from fairseq_compat.registry import patch


def _missing_names():
    import numpy as np

    stand_ins = {"int": int, "float": float, "compat": types.SimpleNamespace(long=int)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy 1.20 to 1.23 still have them, with a warning
        return {name: value for name, value in stand_ins.items() if not hasattr(np, name)}


@patch(
    "numpy_removed_names",
    "fairseq.data.token_block_dataset",
    "fairseq.data.language_pair_dataset",
    "fairseq.data.data_utils",
    "fairseq.modules.dynamic_crf_layer",
    fault="--sample-break-mode eos, --num-batch-buckets: AttributeError: numpy has no attribute 'compat' ('int')",
    since="NumPy 1.24 (int, float), NumPy 2.0 (compat)",
    needed=lambda module: bool(_missing_names()),
)
def numpy_removed_names(module):
    """Provide the names to these modules only."""
    module.np = Overlay(module.np, **_missing_names())


def _percentile_lacks_interpolation(module):
    import numpy as np

    return "interpolation" not in inspect.signature(np.percentile).parameters


@patch(
    "numpy_percentile",
    "fairseq.data.data_utils",
    fault="--num-batch-buckets: TypeError: percentile() got an unexpected keyword argument 'interpolation'",
    since="NumPy 2.4",
    needed=_percentile_lacks_interpolation,
)
def numpy_percentile(module):
    """Pass ``interpolation`` on under its new name, ``method``."""
    stock = module.np.percentile

    def percentile(*args, interpolation="linear", **options):
        return stock(*args, method=interpolation, **options)

    module.np = Overlay(module.np, percentile=percentile)
