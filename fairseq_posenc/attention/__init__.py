"""Attention: who may attend to whom, how scores are computed, and the module that fairseq's layers call."""
