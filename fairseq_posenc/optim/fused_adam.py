"""fairseq's Adam in one pass over all parameters, by PyTorch's fused kernel for CPU and CUDA."""

import inspect
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Optional

import torch
from fairseq.optim import register_optimizer
from fairseq.optim.adam import Adam, FairseqAdam, FairseqAdamConfig
from fairseq.optim.fairseq_optimizer import FairseqOptimizer

from fairseq_posenc.errors import InputError


class FusedAdam(Adam):
    """The update and the state of fairseq's Adam: decoupled weight decay, epsilon outside of the bias correction.

    Parameters in fp16 or bf16 are updated in fp32 and rounded, as in fairseq's.
    """

    # PyTorch wraps these so that they load its compiler first, which costs every training two seconds.
    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = inspect.unwrap(torch.optim.Optimizer.state_dict)

    @torch.no_grad()
    def step(self, closure: Optional[Callable] = None) -> Any:
        loss = None if closure is None else closure()
        for group in self.param_groups:
            by_step: dict[tuple, list] = defaultdict(list)
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.is_sparse:
                    raise RuntimeError("fused_adam does not take sparse gradients; use --optimizer adam")
                state = self._state_of(p)
                state["step"] += 1
                by_step[p.device, state["step"]].append((p, state))
            for (device, step), members in by_step.items():
                self._update(group, members, step, device)
        return loss

    def _state_of(self, p: torch.Tensor) -> dict[str, Any]:
        """Both moments of a parameter, in fp32."""
        state = self.state[p]
        if not state:
            state["step"] = 0
            for name in ("exp_avg", "exp_avg_sq"):
                state[name] = torch.zeros_like(p, dtype=torch.float32)
        for name in ("exp_avg", "exp_avg_sq"):
            if state[name].dtype != torch.float32 or state[name].device != p.device:
                state[name] = state[name].to(p.device, torch.float32)
        return state

    @staticmethod
    def _update(group: dict[str, Any], members: list, step: int, device: torch.device) -> None:
        beta1, beta2 = group["betas"]
        params = [p.data if p.dtype == torch.float32 else p.data.float() for p, _ in members]
        torch._fused_adamw_(
            params,
            [p.grad.data if p.grad.dtype == torch.float32 else p.grad.data.float() for p, _ in members],
            [state["exp_avg"] for _, state in members],
            [state["exp_avg_sq"] for _, state in members],
            [],
            # Filled on the device: a number of the host would have to be copied to it.
            [torch.full((), float(step), device=device)] * len(members),
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            # The kernel corrects the second moment before it adds epsilon, fairseq's Adam after it.
            eps=group["eps"] / math.sqrt(1 - beta2**step),
            amsgrad=False,
            maximize=False,
        )
        for (p, _), updated in zip(members, params):
            if p.dtype != torch.float32:
                p.data.copy_(updated)


@register_optimizer("fused_adam", dataclass=FairseqAdamConfig)
class FairseqFusedAdam(FairseqAdam):
    """``--optimizer fused_adam``: ``adam`` with its flags, checkpoints and numbers, in less time.

    Raises:
        InputError: flags of ``adam`` that have no fused form.
    """

    def __init__(self, cfg: FairseqAdamConfig, params: Iterable[torch.Tensor]) -> None:
        FairseqOptimizer.__init__(self, cfg)
        for flag in ("use_old_adam", "fp16_adam_stats", "tpu"):
            if getattr(cfg, flag, False):
                raise InputError(f"--{flag.replace('_', '-')} does not go with --optimizer fused_adam; give adam")
        self._optimizer = FusedAdam(params, **self.optimizer_config)

    def multiply_grads(self, c: Any) -> None:
        """Multiply all gradients by ``c``, a number or a tensor with one."""
        by_device = defaultdict(list)
        for p in self.params:
            if p.grad is not None:
                by_device[p.grad.device, p.grad.dtype].append(p.grad.data)
        for (device, _), gradients in by_device.items():
            torch._foreach_mul_(gradients, c.to(device) if torch.is_tensor(c) else c)


# Checkpoints record the name of the class: runs with fairseq's Adam continue with this one, and the other way.
FairseqFusedAdam.__name__ = FairseqAdam.__name__
