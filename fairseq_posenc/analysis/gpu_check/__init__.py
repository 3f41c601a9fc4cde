"""What is checked first on a new device, a module a part.

Each part has ``TITLE``, ``rows(sizes, systems, families)``, which measures and yields a dictionary (ready for JSON) a
row, and ``line(row)``. ``row["agrees"]`` of parity and beam says whether the device computes what the CPU does.
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
