"""Who may attend to whom, as additive or boolean masks."""

import torch


def visible_keys(q_columns, k_columns, causal, key_padding_mask=None):
    """Which keys each query may attend to, or None where every query sees every key.

    Args:
        q_columns: (Tq,) columns of the queries.
        k_columns: (Tk,) columns of the keys.
        causal: whether later keys are hidden.
        key_padding_mask: (B, Tk), True at padding, or None.

    Returns:
        bool, broadcastable to (B, H, Tq, Tk), True where a query may attend; or None. A query that sits on padding
        may always attend to its own column, so that no row of the softmax is empty.
    """
    visible = None
    if causal:
        visible = (k_columns <= q_columns.unsqueeze(1))[None, None]
    if key_padding_mask is not None:
        tokens = ~key_padding_mask[:, None, None, :]
        if causal:
            own = (k_columns == q_columns.unsqueeze(1))[None, None]
            visible = (visible & tokens) | own
        else:
            visible = tokens
    return visible


def additive(visible, bias, dtype):
    """One tensor to add to the scores, from a boolean mask and a bias (either may be None)."""
    if visible is None:
        return None if bias is None else bias.to(dtype)
    zero = torch.zeros((), dtype=dtype, device=visible.device)
    values = zero if bias is None else bias.to(dtype)
    return torch.where(visible, values, zero.new_full((), float("-inf")))
