"""What a cache keeps between steps of decoding, and how little of it a step copies."""

import pytest
import torch

from fairseq_posenc.attention.keys import ROOM
from fairseq_posenc.attention.patterns import attention_pattern
from fairseq_posenc.attention.self_attention import CAUSAL
from tests.support.attention import combined, random_text, self_attention

STEPS = 3 * ROOM


def step(module, x, state):
    """One more token (1, B, C) from a cache."""
    return module(x, None, None, None, state, need_weights=False)[0]


def steps(module, x, state):
    return torch.cat([step(module, token[None], state) for token in x])


def storage(module, state):
    """Where the keys lie in memory."""
    return module._get_input_buffer(state)["prev_key"].untyped_storage().data_ptr()


@pytest.mark.parametrize(("name", "pattern"), combined(["full", "window:5", "sinks:2,window:4"]), ids=str)
def test_same_as_with_caches_that_are_copied(name, pattern):
    """Where autograd may need the keys, every step makes new ones; otherwise it writes into free places."""
    module, x = self_attention(name), random_text(STEPS)
    module.use_pattern(attention_pattern(pattern))
    with torch.no_grad():
        kept = steps(module, x, {})
    torch.testing.assert_close(kept, steps(module, x, {}), atol=1e-12, rtol=0)


@torch.no_grad()
def test_most_steps_copy_nothing_that_came_before():
    module, x, state, places = self_attention(None), random_text(STEPS), {}, []
    for token in x:
        step(module, token[None], state)
        places.append(storage(module, state))
    moves = sum(one != other for one, other in zip(places, places[1:]))
    assert 0 < moves < STEPS / ROOM


@torch.no_grad()
def test_a_window_needs_no_more_memory_with_every_step():
    module, x, state = self_attention(None), random_text(10 * ROOM), {}
    module.use_pattern(attention_pattern("window:5"))
    steps(module, x, state)
    assert module._get_input_buffer(state)["store"].k.size(2) <= 5 + ROOM


@pytest.mark.parametrize("pattern", ["full", "sinks:1,window:2"])
@pytest.mark.parametrize("order", [None, [1, 1, 0]], ids=["same order", "reordered"])
@torch.no_grad()
def test_a_cache_can_be_continued_twice(order, pattern):
    """The second continuation does not find the tokens of the first."""
    module, x, state = self_attention("rope"), random_text(9, batch=3), {}
    module.use_pattern(attention_pattern(pattern))
    steps(module, x[:5], state)
    other = dict(state)
    first = steps(module, x[5:], state)
    if order is not None:
        module.reorder_incremental_state(other, torch.tensor(order))
    rows = torch.tensor(order or [0, 1, 2])
    second = steps(module, x[5:].flip(0), other)
    for found, text in ((first, x), (second, torch.cat([x[:5, rows], x[5:].flip(0)]))):
        torch.testing.assert_close(found, steps(module, text, {})[5:], atol=1e-12, rtol=0)


def test_gradients_through_a_cache():
    """Each step keeps what it has read."""
    module, x = self_attention("rope"), random_text(5).requires_grad_()
    steps(module, x, {}).sin().sum().backward()
    stepped, x.grad = x.grad, None
    module(x, attn_mask=CAUSAL, need_weights=False)[0].sin().sum().backward()
    torch.testing.assert_close(stepped, x.grad)


@torch.no_grad()
def test_reordering_in_place_takes_two_memories():
    """They change places, also while sentences leave the batch."""
    module, x, state, places = self_attention("rope"), random_text(ROOM, batch=4), {}, set()
    step(module, x[:1], state)
    read = x[:1]
    for token, order in zip(x[1:], ([1, 1, 3, 2], [0, 0, 1, 3], [3, 2], [1, 0], [0, 0], [1, 0])):
        module.reorder_incremental_state(state, torch.tensor(order), in_place=True)
        read = torch.cat([read[:, order], token[None, : len(order)]])
        out = step(module, read[-1:], state)
        torch.testing.assert_close(out, steps(module, read, {})[-1:], atol=1e-12, rtol=0)
        places.add(storage(module, state))
    assert len(places) == 2
