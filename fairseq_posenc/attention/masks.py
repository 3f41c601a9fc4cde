"""Who may attend to whom, as additive or boolean masks."""

import torch


def visible_keys(q_columns, k_columns, causal, padding, device):
    """Which keys each query may attend to, or None where every query sees every key.

    Args:
        q_columns, k_columns: ranges, the columns of the Tq queries and of the Tk keys.
        causal: whether later keys are hidden.
        padding: (B, Tk), True at padding, or None.
        device: of the result.

    Returns:
        bool, broadcastable to (B, H, Tq, Tk), True where a query may attend; or None. A query that sits on padding
        may always attend to its own column, so that no row of the softmax is empty.
    """
    if not causal:
        return None if padding is None else ~padding[:, None, None, :]
    q_columns, k_columns = columns_of(q_columns, device).unsqueeze(1), columns_of(k_columns, device)
    visible = (k_columns <= q_columns)[None, None]
    if padding is None:
        return visible
    own = (k_columns == q_columns)[None, None]
    return (visible & ~padding[:, None, None, :]) | own


def columns_of(columns, device):
    """A range as a tensor of int64."""
    return torch.arange(columns.start, columns.stop, device=device)


def additive(visible, bias, dtype):
    """One tensor to add to the scores, from a boolean mask and a bias (either may be None)."""
    if visible is None:
        return None if bias is None else bias.to(dtype)
    zero = torch.zeros((), dtype=dtype, device=visible.device)
    values = zero if bias is None else bias.to(dtype)
    return torch.where(visible, values, zero.new_full((), float("-inf")))
