"""Claims of the papers on language models, beside what was measured."""

from examples.common.claims import claim_table
from examples.lm.claims.sandwich import SANDWICH
from examples.lm.claims.xpos import XPOS

TABLES = {"xpos-claims": lambda: claim_table(XPOS), "sandwich-claims": lambda: claim_table(SANDWICH)}
