"""The loss of chosen tokens of a text, each predicted from the tokens before it in its window."""

import numpy as np
import torch

#: Logits are made for so many numbers at a time (128 MiB in fp32): at 8192 tokens and 50,000 words all would be 1.6 GB.
LOGITS = 2**25


@torch.no_grad()
def token_losses(model, text, windows, max_tokens, progress):
    """-log p of every token that ``windows`` score.

    Args:
        model: fairseq's language model.
        text: a Text.
        windows: see extrapolation_protocols.py.
        max_tokens: of a batch; a longer window is a batch of its own.
        progress: called with the number of inputs after every batch.

    Returns:
        (N,) float64 in nats, one number a token of the text, NaN where not scored; (N,) int64, how often it was.
    """
    device = next(model.parameters()).device
    inputs, targets = text.inputs, text.tokens
    losses, times = np.full(len(text), np.nan), np.zeros(len(text), dtype=np.int64)
    for starts, size, scored in batches(windows, max_tokens):
        read = torch.from_numpy(starts)[:, None] + torch.arange(size)
        wanted = read[:, size - scored :]
        features = model(inputs[read].to(device), features_only=True)[0][:, size - scored :]
        index = wanted.reshape(-1).numpy()
        losses[index] = losses_of(model, features, targets[wanted].to(device))
        np.add.at(times, index, 1)
        progress(read.numel())
    return losses, times


def batches(windows, max_tokens):
    """Yield (starts, inputs, scored) of windows of one shape at a time, up to ``max_tokens`` inputs together."""
    shapes = np.stack([windows[:, 1] - windows[:, 0], windows[:, 2]], axis=1)
    for size, count in np.unique(shapes, axis=0).tolist():
        starts = windows[(shapes == (size, count)).all(axis=1), 0]
        together = max(1, max_tokens // size)
        for first in range(0, len(starts), together):
            yield starts[first : first + together], size, count


def losses_of(model, features, targets):
    """-log p of targets (B, T) from features (B, T, C), as a flat float64 array in nats."""
    features, targets = features.reshape(1, -1, features.size(-1)), targets.reshape(1, -1)
    parts = []
    for start in range(0, targets.size(1), together := max(1, LOGITS // vocabulary_size(model))):
        wanted = targets[:, start : start + together]
        # With an adaptive softmax this leaves the features as they are, and the log-probabilities come from them.
        logits = model.decoder.output_layer(features[:, start : start + together])
        log_probs = model.get_normalized_probs((logits, None), log_probs=True, sample={"target": wanted})
        parts.append(-log_probs.gather(2, wanted.unsqueeze(2)).flatten().double().cpu().numpy())
    return np.concatenate(parts)


def vocabulary_size(model):
    return len(model.decoder.dictionary)
