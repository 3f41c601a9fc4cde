"""The loss of selected tokens of a text, each predicted from the preceding tokens in its window."""

import numpy as np
import torch

#: Compute this many logits at a time (128 MiB in fp32): 8192 tokens with a vocabulary of 50,000 would take 1.6 GB.
LOGITS = 2**25


@torch.no_grad()
def token_losses(model, text, windows, max_tokens, progress):
    """-log p of every token that ``windows`` score.

    Args:
        model: fairseq's language model.
        text: a Text.
        windows: see extrapolation_protocols.py.
        max_tokens: tokens per batch; a longer window is a batch of its own.
        progress: called with the number of inputs after every batch.

    Returns:
        (N,) float64 in nats, one loss per token of the text, NaN for tokens that are not scored; (N,) int64, the number
        of times each token was scored.
    """
    device = next(model.parameters()).device
    inputs, targets = text.inputs, text.tokens
    losses, counts = np.full(len(text), np.nan), np.zeros(len(text), dtype=np.int64)
    for starts, size, scored in batches(windows, max_tokens):
        read = torch.from_numpy(starts)[:, None] + torch.arange(size)
        predicted = read[:, size - scored :]
        features = model(inputs[read].to(device), features_only=True)[0][:, size - scored :]
        index = predicted.reshape(-1).numpy()
        losses[index] = losses_of(model, features, targets[predicted].to(device))
        np.add.at(counts, index, 1)
        progress(read.numel())
    return losses, counts


def batches(windows, max_tokens):
    """Yield (starts, inputs, scored) of batches of windows with equal shapes, each of up to ``max_tokens`` inputs."""
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
    for start in range(0, targets.size(1), together := max(1, LOGITS // vocab_size(model))):
        part = targets[:, start : start + together]
        # With an adaptive softmax, output_layer returns the features, and get_normalized_probs uses these.
        logits = model.decoder.output_layer(features[:, start : start + together])
        log_probs = model.get_normalized_probs((logits, None), log_probs=True, sample={"target": part})
        parts.append(-log_probs.gather(2, part.unsqueeze(2)).flatten().double().cpu().numpy())
    return np.concatenate(parts)


def vocab_size(model):
    return len(model.decoder.dictionary)
