"""Makes fairseq's tasks generate with FastGenerator where all models are of this package.

``fairseq-generate``, ``fairseq-interactive``, ``--eval-bleu`` and ``from_pretrained`` all ask their task for a
generator.
"""

import functools
from collections.abc import Sequence
from typing import Any

from fairseq.tasks import FairseqTask

from fairseq_posenc.generation.generator import FastGenerator, FastGeneratorWithAlignment, takes

_stock_build_generator = FairseqTask.build_generator


@functools.wraps(_stock_build_generator)
def build_generator(
    self: FairseqTask,
    models: Sequence[Any],
    args: Any,
    seq_gen_cls: Any = None,
    extra_gen_cls_kwargs: dict[str, Any] | None = None,
    prefix_allowed_tokens_fn: Any = None,
) -> Any:
    if seq_gen_cls is None and takes(models):
        alignment = getattr(args, "print_alignment", None)
        seq_gen_cls = FastGeneratorWithAlignment if alignment else FastGenerator
        if alignment:
            extra_gen_cls_kwargs = {**(extra_gen_cls_kwargs or {}), "print_alignment": alignment}
    return _stock_build_generator(self, models, args, seq_gen_cls, extra_gen_cls_kwargs, prefix_allowed_tokens_fn)


FairseqTask.build_generator = build_generator
