"""The trained model that is exported."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairseq import checkpoint_utils
from fairseq.data import Dictionary
from omegaconf import OmegaConf

import fairseq_posenc.models.language_model
import fairseq_posenc.models.transformer  # noqa: F401 (both register the architectures)
from fairseq_posenc.analysis.language_model import check_task, errors_naming, read_state
from fairseq_posenc.errors import InputError
from fairseq_posenc.models.checks import check_finite
from fairseq_posenc.models.decoder import Decoder


@dataclass(frozen=True)
class Trained:
    """A trained model of this package, in fp32 on the CPU and in evaluation mode.

    Args:
        path: of its checkpoint.
        model: a translation model with ``encoder`` and ``decoder``, or a language model with ``decoder``.
        settings: the model's part of the checkpoint's configuration, after overrides.
        task: fairseq's task, with its dictionaries.
    """

    path: str
    model: Any
    settings: Namespace
    task: Any

    @property
    def translates(self) -> bool:
        """Whether it is a translation model; otherwise it is a language model."""
        return hasattr(self.model, "encoder")

    @property
    def stacks(self) -> dict[str, Any]:
        """{"encoder": .., "decoder": ..}, or the decoder alone."""
        return {side: getattr(self.model, side) for side in ("encoder", "decoder") if hasattr(self.model, side)}

    @property
    def dictionaries(self) -> dict[str, Dictionary]:
        """{"source": .., "target": ..}, or that of the language model as "target"."""
        target = {"target": self.task.target_dictionary}
        return {"source": self.task.source_dictionary, **target} if self.translates else target

    def setting(self, name: str) -> Any:
        """A setting of the model, None where the checkpoint has none."""
        return getattr(self.settings, name, None)

    def encodings(self) -> Iterator[tuple[str, Any]]:
        """Each side and its encoding."""
        for side, stack in self.stacks.items():
            yield side, stack.embed_positions


def load_trained(path: str, data: str | None = None, overrides: dict[str, Any] | None = None) -> Trained:
    """Read a checkpoint.

    Args:
        data: the folder with the dictionaries; None: the one that the checkpoint names.
        overrides: as in ``--model-overrides``.

    Raises:
        InputError: the file is missing or no checkpoint, its dictionaries are missing or others, a parameter is not
            finite, or it holds a model of stock fairseq.
    """
    overrides = {**(overrides or {}), **({} if data is None else {"data": data})}
    with errors_naming(path):
        state = read_state(path, overrides)
        check_finite(state["model"])
        (model,), cfg, task = checkpoint_utils.load_model_ensemble_and_task([path], overrides, state=state)
    settings = cfg.model
    if OmegaConf.is_config(settings):
        settings = Namespace(**OmegaConf.to_container(settings, enum_to_str=True))
    if not isinstance(getattr(model, "decoder", None), Decoder):
        arch = "transformer_lm_sinusoidal_base" if not hasattr(model, "encoder") else "transformer_sinusoidal_wmt_en_de"
        raise InputError(
            f"{path} holds no model of this package; a Transformer of stock fairseq is read as one with "
            f"--model-overrides \"{{'arch': '{arch}'}}\""
        )
    if not hasattr(model, "encoder"):
        check_task(path, cfg.task)
    return Trained(path, model.float().eval().requires_grad_(False), settings, task)
