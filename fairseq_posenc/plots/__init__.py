"""Figures of saved results: each module turns a result into rows, and rows into a figure."""
