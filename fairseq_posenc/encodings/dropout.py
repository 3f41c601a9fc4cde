"""Dropout of an encoding's own."""

from torch import nn
from torch.nn import functional as F


class Dropout(nn.Module):
    """Dropout with probability ``p`` while training and, where fairseq's ``--retain-dropout`` asks for it, afterwards.

    ``module_name`` is the name after ``--retain-dropout-modules``: that of the encoding's class, as fairseq has it for
    its own modules.
    """

    def __init__(self, p, module_name):
        super().__init__()
        self.p, self.module_name = p, module_name
        self.apply_during_inference = False

    def forward(self, x):
        return F.dropout(x, self.p, self.training or self.apply_during_inference)

    def make_generation_fast_(self, name, retain_dropout=False, retain_dropout_modules=None, **kwargs):
        """What fairseq calls on every module that has it, before it generates."""
        wanted = retain_dropout_modules is None or self.module_name in retain_dropout_modules
        self.apply_during_inference = retain_dropout and wanted
