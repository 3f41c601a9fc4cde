"""Lets stock fairseq 0.12.x run on today's Python, PyTorch, NumPy, hydra and sacrebleu.

Nothing of fairseq is changed on disk. A finder (``fairseq_compat.boot``) is installed at interpreter start and waits
until fairseq is imported; then it runs the patches of ``fairseq_compat.patches`` on the modules they name, each only
where its fault exists. This package knows nothing of positional encodings.

``FAIRSEQ_COMPAT=0`` switches everything off, ``FAIRSEQ_COMPAT_SKIP=name,name`` single patches,
and ``FAIRSEQ_COMPAT_TRACEBACK=1`` shows the traceback behind one-line error messages.
"""


def report():
    """Return one dictionary a patch: name, modules, fault, since, and its state in this process.

    The state is ``in force``, ``not needed``, ``skipped``, ``failed: REASON`` or ``module not imported yet``.
    """
    # Imported here, since this file runs at every interpreter start.
    from fairseq_compat import registry

    return registry.report()
