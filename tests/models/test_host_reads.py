"""How often Python reads numbers out of tensors, for which a GPU must be waited for: never more than stock fairseq."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_posenc.encodings import encoding_names
from tests.support.models import batch, build_small, build_small_lm, text

READS = {"_local_scalar_dense", "equal", "is_nonzero", "nonzero", "masked_select"}


class Reads(TorchDispatchMode):
    """Counts the operations for which the host waits."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function._schema.name.split("::")[1] in READS
        return function(*args, **(kwargs or {}))


def reads(run):
    with Reads() as counted:
        run()
    return counted.count


@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize("name", encoding_names())
def test_of_a_translation_model(name, left):
    """Two looks at two numbers, one for each side; stock fairseq has three."""
    model, inputs = build_small(name), batch(left_pad_source=left, left_pad_target=left)
    # Each look reads whether there is padding, and whether any of it comes first.
    assert reads(lambda: model(**inputs)) <= 2 * 2
    assert reads(lambda: model(**inputs)[0].sum().backward()) <= 2 * 2


@pytest.mark.parametrize("pattern", ["full", "window:3", "blockwise:4"])
@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize("name", encoding_names())
def test_of_a_language_model(name, left, pattern):
    model = build_small_lm(name, "--attention-pattern", pattern).eval()
    tokens, state = text(left=left), {}
    assert reads(lambda: model(tokens)) <= 2
    with torch.no_grad():
        model(tokens[:, :6], incremental_state=state)
        for length in range(7, tokens.size(1) + 1):
            assert reads(lambda: model(tokens[:, :length], incremental_state=state)) == 0  # noqa: B023
