"""Measurements of models."""

import logging

# fairseq says there, whenever it is imported, that TensorBoard's package is missing.
logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)
