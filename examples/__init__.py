"""The recipes, run as `python -m examples.RECIPE...` from any folder with the root of the repository on PYTHONPATH."""
