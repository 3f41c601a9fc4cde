"""Which columns of a batch the keys are: one run of them, or the first of the text and a later run."""

from dataclasses import dataclass

import torch

from fairseq_posenc.encodings.positions import length_of


@dataclass(frozen=True)
class Runs:
    """The columns 0 .. sinks - 1, and then ``last``, which begins after them."""

    sinks: int
    last: range

    @property
    def start(self) -> int:
        """The first column of the last run."""
        return self.last.start

    @property
    def stop(self) -> int:
        """The column after all of them."""
        return self.last.stop

    @property
    def parts(self) -> tuple[range, range]:
        """Both runs."""
        return range(self.sinks), self.last


#: The columns of keys.
Columns = range | Runs


def count_of(columns: Columns) -> int:
    """How many columns these are."""
    return columns.sinks + length_of(columns.last) if isinstance(columns, Runs) else length_of(columns)


def column_tensor(columns: Columns, device: torch.device) -> torch.Tensor:
    """Their indices as a tensor of int64."""
    parts = columns.parts if isinstance(columns, Runs) else (columns,)
    indices = [torch.arange(part.start, part.stop, device=device) for part in parts]
    return indices[0] if len(indices) == 1 else torch.cat(indices)
