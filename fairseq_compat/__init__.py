"""Lets stock fairseq 0.12.x run on today's Python, PyTorch, NumPy, hydra and sacrebleu.

No file of fairseq is changed. A finder (``fairseq_compat.boot``) is installed at interpreter start. When fairseq is
imported, the finder applies the patches of ``fairseq_compat.patches`` to their modules, each patch only if its fault
exists. This package does not depend on positional encodings.

``FAIRSEQ_COMPAT=0`` disables everything, ``FAIRSEQ_COMPAT_SKIP=name,name`` disables single patches,
and ``FAIRSEQ_COMPAT_TRACEBACK=1`` shows the tracebacks behind one-line error messages.
"""


def report():
    """Return one dictionary per patch: name, modules, fault, since, and its state in this process.

    The state is ``in force``, ``not needed``, ``skipped``, ``failed: REASON`` or ``module not imported yet``.
    """
    # Imported here, since this file runs at every interpreter start.
    from fairseq_compat import registry

    return registry.report()
