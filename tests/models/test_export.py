"""torch.export of whole models; TorchScript is refused."""

import pytest
import torch
from torch.export import Dim, export

from fairseq_posenc.errors import InputError
from tests.support.encodings import one_of_each_kind
from tests.support.models import batch, build_small, build_small_lm, text


def exported(model, inputs):
    """The model for batches of every size; lengths are those of ``inputs``, shorter sentences are padded."""
    return export(model, inputs, dynamic_shapes=[{0: Dim.AUTO}] * len(inputs), strict=False).module()


def inputs_of(**options):
    sample = batch(**options)
    return tuple(sample[name] for name in ("src_tokens", "src_lengths", "prev_output_tokens"))


@pytest.mark.parametrize("encoding", one_of_each_kind())
def test_translation_model(encoding, tmp_path):
    """Exported from one batch; run on another with other lengths, padded on the other side, after saving."""
    model = build_small(encoding)
    program = export(model, inputs_of(), dynamic_shapes=[{0: Dim.AUTO}] * 3, strict=False)
    torch.export.save(program, tmp_path / "model.pt2")
    loaded = torch.export.load(tmp_path / "model.pt2").module()
    for options in ({"left_pad_source": False, "lengths": (2, 6)}, {"lengths": (1, 6, 4, 5)}):
        inputs = inputs_of(**{"target_lengths": (6, 3, 1, 5)[: len(options["lengths"])], **options})
        real = inputs[2] != 1
        torch.testing.assert_close(loaded(*inputs)[0][real], model(*inputs)[0][real], atol=1e-5, rtol=0)


@pytest.mark.parametrize("pattern", ["full", "window:3", "blockwise:4", "sinks:1,window:3"])
def test_language_model(pattern):
    model = build_small_lm("xpos", "--attention-pattern", pattern)
    program = exported(model, (text(),))
    for inputs in (text(lengths=(9, 2)), text(lengths=(3, 9), left=True)):
        real = inputs != 1
        torch.testing.assert_close(program(inputs)[0][real], model(inputs)[0][real], atol=1e-5, rtol=0)


@pytest.mark.parametrize("build", [build_small, build_small_lm])
def test_scripting_is_refused_in_one_line(build):
    with pytest.raises(InputError, match=r"TorchScript.*torch\.export\.export") as refused:
        torch.jit.script(build("rope"))
    assert "\n" not in str(refused.value)
