"""The first check of a new device, one module per part.

Each part has ``TITLE``, ``rows(sizes, systems, families)``, which measures and yields one dictionary (ready for JSON)
per row, and ``line(row)``, its text. ``row["agrees"]`` of parity and beam says whether device and CPU agree.
"""

from fairseq_posenc.analysis.gpu_check import beam, kernels, lengths, parity, synchronizations, training

PARTS = {
    "parity": parity,
    "kernels": kernels,
    "beam": beam,
    "syncs": synchronizations,
    "training": training,
    "lengths": lengths,
}
