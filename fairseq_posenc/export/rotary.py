"""What other programs know of RoPE."""

from dataclasses import dataclass

import torch

from fairseq_posenc.encodings.frequencies import series
from fairseq_posenc.encodings.rope import RoPE
from fairseq_posenc.export.checkpoint import Trained
from fairseq_posenc.export.refusals import refuse


@dataclass(frozen=True)
class Rotary:
    """Rotation of the first ``dim`` dimensions of a head by ``position / divisor x base^(-2i/dim)``."""

    dim: int
    base: float
    divisor: float = 1.0


def rotary_of(trained: Trained, encoding: RoPE, target: str) -> Rotary:
    """The Rotary of a RoPE. "ntk" is another base, "linear" a divisor; the rest raises InputError."""
    frequencies = encoding.rotation.frequencies
    rotary = Rotary(frequencies.dim, frequencies.base)
    if frequencies.method == "linear":
        rotary = Rotary(frequencies.dim, frequencies.base, trained.setting("rope_scaling_factor"))
    elif frequencies.method == "ntk":
        growth = trained.setting("rope_scaling_factor") ** (frequencies.dim / (frequencies.dim - 2))
        rotary = Rotary(frequencies.dim, frequencies.base * growth)
    elif frequencies.method != "none":
        raise refuse(trained, target, f"--rope-scaling {frequencies.method}")
    if not torch.allclose(frequencies.of(0), series(rotary.dim, rotary.base) / rotary.divisor, atol=0):
        raise refuse(trained, target, "--rope-keep and --rope-max-wavelength, by which some pairs are not turned")
    return rotary
