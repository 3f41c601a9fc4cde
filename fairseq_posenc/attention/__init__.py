"""Attention: who may attend to whom, how it is computed, what a cache keeps, and the module of fairseq's layers."""
