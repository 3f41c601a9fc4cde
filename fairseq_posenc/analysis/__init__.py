"""Measurements of models."""

import logging

# On import, fairseq logs there that TensorBoard is not installed.
logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)
