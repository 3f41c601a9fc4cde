"""Timing of functions and of attention."""

import sys
import time

import torch
from tqdm import tqdm


def now(device):
    """The time in seconds, after the device has finished all queued work."""
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def turns(names, rounds):
    """The order of the names in each round; it rotates, so that no name is always first."""
    for number in range(rounds):
        start = number % len(names)
        yield names[start:] + names[:start]


def in_turns(runs, rounds, device, title=None):
    """Time functions that take turns, round by round, because machines are noisy; after one warm-up round.

    Args:
        runs: {name: function without arguments}.
        title: of the progress bar; None: no bar.

    Returns:
        {name: [(seconds, return value of the function), one per round]}.
    """
    names, timings = list(runs), {name: [] for name in runs}
    with tqdm(total=(rounds + 1) * len(names), desc=title, file=sys.stderr, disable=title is None) as progress:
        for number, order in enumerate(turns(names, rounds + 1)):
            for name in order:
                begin = now(device)
                returned = runs[name]()
                seconds = now(device) - begin
                if number:
                    timings[name].append((seconds, returned))
                progress.update()
    return timings


class AttentionTimer:
    """Context manager that adds to ``seconds`` the time these SelfAttentions spend between their projections."""

    def __init__(self, attentions, device):
        self.attentions, self.device, self.seconds, self._begin = attentions, device, 0.0, None

    def __enter__(self):
        self._hooks = []
        for attention in self.attentions:
            # Queries and keys are projected before the values.
            self._hooks.append(attention.v_proj.register_forward_hook(self._start))
            self._hooks.append(attention.out_proj.register_forward_pre_hook(self._stop))
        return self

    def __exit__(self, *exception):
        for hook in self._hooks:
            hook.remove()

    def _start(self, *_):
        self._begin = now(self.device)

    def _stop(self, *_):
        self.seconds += now(self.device) - self._begin
