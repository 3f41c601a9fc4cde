"""Output layer and cross-entropy at once, over slices of the tokens.

Neither the logits (tokens, V) nor their gradient is ever there as a whole. The gradient of a slice is made from its
logits, in their memory, and both products with it are done at once, so that the backward pass only scales them.
"""

from typing import Any, NamedTuple, Optional

import torch

from fairseq_posenc.linear import add_product_, is_faster, product, whole_rows

#: Logits per slice. Products with few tokens are slow, and a GPU is idle between them.
CPU_SLICE = 2**24
GPU_SLICE = 2**27

#: Gradients in fp16 are this many times larger, as a small probability would be 0 in them.
FP16_SCALE = 128.0
#: The largest sum that fp16 is given to hold, half of the largest that it holds.
FP16_SUM = 2.0**15


class Losses(NamedTuple):
    """Sums over the tokens that are no padding, in nats; ``correct`` is None where it was not asked for."""

    loss: torch.Tensor
    nll_loss: torch.Tensor
    correct: Optional[torch.Tensor]


def sliced_cross_entropy(
    features: torch.Tensor,
    weight: torch.Tensor,
    target: torch.Tensor,
    padding_idx: int,
    label_smoothing: float = 0.0,
    count_correct: bool = False,
) -> Losses:
    """Label-smoothed cross-entropy of ``features @ weight.T``, as in fairseq's criterion of that name.

    Args:
        features: (N, C).
        weight: (V, C), of an output layer without bias.
        target: (N,), ``padding_idx`` where a token does not count.
        label_smoothing: epsilon; epsilon / (V - 1) of the probability goes to each other entry of the vocabulary.
        count_correct: also count the tokens whose most probable entry is the target.
    """
    return Losses(*_SlicedCrossEntropy.apply(features, weight, target, padding_idx, label_smoothing, count_correct))


class _SlicedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        features: torch.Tensor,
        weight: torch.Tensor,
        target: torch.Tensor,
        padding_idx: int,
        epsilon: float,
        count_correct: bool,
    ) -> tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor]]:
        device, vocab_size = features.device, weight.size(0)
        autocast = torch.is_autocast_enabled(device.type)
        dtype = torch.get_autocast_dtype(device.type) if autocast else features.dtype
        with torch.autocast(device.type, enabled=False):
            x, w = features.to(dtype), weight.to(dtype)
            faster = is_faster(x, w)
            size = max(1, (CPU_SLICE if device.type == "cpu" else GPU_SLICE) // vocab_size)
            if faster:
                size = whole_rows(size)
            part = epsilon / (vocab_size - 1)
            counts = target.ne(padding_idx)
            # The sum of all logits of a token is a product with the sum of all rows.
            row_sum = w.sum(dim=0, dtype=torch.float32) if epsilon else None
            gradients = _Gradients(x, w, ctx.needs_input_grad[:2], faster, size)
            losses = torch.zeros(3, dtype=torch.float64 if device.type == "cpu" else torch.float32, device=device)
            for start in range(0, x.size(0), size):
                rows = slice(start, start + size)
                own, keep, wanted = x[rows], counts[rows], target[rows].unsqueeze(1)
                logits = product(own, w) if faster else (own @ w.t()).float()
                highest = logits.amax(dim=1, keepdim=True)
                wanted_logit = logits.gather(1, wanted)
                if count_correct:
                    losses[2] += (logits.argmax(dim=1, keepdim=True).eq(wanted).squeeze(1) & keep).sum()
                powers = logits.sub_(highest).exp_()
                total = powers.sum(dim=1, keepdim=True)
                normalizer = total.log() + highest
                nll = (normalizer - wanted_logit).squeeze(1) * keep
                losses[1] += nll.sum()
                if row_sum is not None:
                    every = (vocab_size * normalizer.squeeze(1) - own.float() @ row_sum) * keep
                    losses[0] += ((1 - epsilon - part) * nll + part * every).sum()
                gradients.add(rows, powers, total, wanted, keep, 1 - epsilon - part)
            if row_sum is None:
                losses[0] = losses[1]
        ctx.scale, ctx.weight_dtype = gradients.scale, weight.dtype
        # Without save_for_backward, whose reference would make autograd copy what backward returns.
        ctx.gradients = gradients.finished(counts, row_sum, part)
        losses = losses.float()
        correct = losses[2].long() if count_correct else None
        nll_loss = losses[1].clone()
        ctx.mark_non_differentiable(nll_loss, *(() if correct is None else (correct,)))
        return losses[0].clone(), nll_loss, correct

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, *_: Any) -> tuple[Optional[torch.Tensor], ...]:
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            raise RuntimeError("a sliced loss has one backward pass, as it keeps no logits; compute the loss again")
        of_features, of_weight = gradients
        if of_features is not None:
            of_features.mul_((grad / ctx.scale).to(of_features.dtype))
        if of_weight is not None:
            of_weight = of_weight.mul_(grad).to(ctx.weight_dtype)
        return of_features, of_weight, None, None, None, None


class _Gradients:
    """The gradients of features, ``scale`` times too large, and of weight, in fp32; slice by slice of ``size`` tokens.

    A frequent token's gradients add up to more than fp16 holds, at any loss scale that is applied only afterwards.
    """

    def __init__(self, x: torch.Tensor, w: torch.Tensor, needed: tuple[bool, ...], faster: bool, size: int) -> None:
        self.x, self.w, self.faster = x, w, faster
        self.scale, self.shrink = 1.0, None
        if x.dtype == torch.float16 and x.numel():
            self.scale = FP16_SCALE
            # No token's part is more than its features: a power of two that keeps the sum of a slice in fp16.
            largest = self.scale * min(size, x.size(0)) * x.abs().amax().float() / FP16_SUM
            self.shrink = torch.exp2(largest.clamp(min=1).log2().ceil())
        self.of_features = torch.empty_like(x) if needed[0] else None
        self.of_weight = torch.zeros_like(w, dtype=torch.float32) if needed[1] else None

    def add(
        self,
        rows: slice,
        powers: torch.Tensor,
        total: torch.Tensor,
        wanted: torch.Tensor,
        keep: torch.Tensor,
        certain: float,
    ) -> None:
        """One slice: probabilities are powers / total; the target has ``certain`` more than other entries."""
        if self.of_features is None and self.of_weight is None:
            return
        # The logits have the gradient probability - certain [target] - epsilon / (V - 1); ``finished`` adds the last.
        scaled = powers.scatter_add_(1, wanted, -certain * total)
        factor = self.scale * keep.unsqueeze(1) / total
        if self.x.dtype != torch.float32:
            scaled = scaled.mul_(factor).to(self.x.dtype)
            factor = keep.unsqueeze(1).to(self.x.dtype)
        if self.of_features is not None:
            mixed = product(scaled, self.w.t()) if self.faster else scaled @ self.w
            self.of_features[rows] = mixed.mul_(factor)
        if self.of_weight is not None:
            own = self.x[rows] * factor
            if self.faster:
                add_product_(self.of_weight, scaled, own)
            elif self.x.dtype == torch.float32:
                self.of_weight.addmm_(scaled.t(), own)
            elif self.shrink is None:
                self.of_weight += scaled.t() @ own
            else:
                self.of_weight += (scaled.t() @ (own / self.shrink)).float().mul_(self.shrink / self.scale)

    def finished(
        self, counts: torch.Tensor, row_sum: Optional[torch.Tensor], part: float
    ) -> tuple[Optional[torch.Tensor], Optional[torch.Tensor]]:
        """Both gradients, after the last slice."""
        if row_sum is not None:
            if self.of_features is not None:
                share = self.scale * part * counts.unsqueeze(1) * row_sum
                self.of_features -= share.to(self.of_features.dtype)
            if self.of_weight is not None:
                self.of_weight -= part * (self.x * counts.unsqueeze(1)).sum(dim=0, dtype=torch.float32)
        return self.of_features, self.of_weight
