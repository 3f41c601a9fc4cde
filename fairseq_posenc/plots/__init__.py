"""Figures, drawn from saved results only: each module turns a result into rows, and rows into a figure."""
