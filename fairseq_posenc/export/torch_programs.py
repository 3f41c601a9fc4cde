"""Programs of torch.export, for every encoding and pattern."""

from pathlib import Path

import torch
from torch import nn
from torch.export import Dim, export, save

from fairseq_posenc.errors import InputError
from fairseq_posenc.export.checkpoint import Trained


class EncoderProgram(nn.Module):
    """Source tokens (B, S) -> the encoder's output (B, S, C)."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, src_tokens: torch.Tensor) -> torch.Tensor:
        return self.encoder(src_tokens)["encoder_out"][0].transpose(0, 1)


class DecoderProgram(nn.Module):
    """Target tokens so far (B, T), the encoder's output (B, S, C) and the source tokens (B, S) -> logits (B, T, V)."""

    def __init__(self, decoder: nn.Module, padding_idx: int) -> None:
        super().__init__()
        self.decoder, self.padding_idx = decoder, padding_idx

    def forward(
        self, prev_output_tokens: torch.Tensor, encoder_out: torch.Tensor, src_tokens: torch.Tensor
    ) -> torch.Tensor:
        encoded = {
            "encoder_out": [encoder_out.transpose(0, 1)],
            "encoder_padding_mask": [src_tokens.eq(self.padding_idx)],
        }
        return self.decoder(prev_output_tokens, encoded)[0]


class LanguageModelProgram(nn.Module):
    """Tokens (B, T) -> logits (B, T, V)."""

    def __init__(self, decoder: nn.Module) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.decoder(tokens)[0]


def check_length(trained: Trained, length: int) -> None:
    """Raise InputError if the model cannot read so many tokens."""
    longest = min(stack.max_positions() for stack in trained.stacks.values())
    if not 2 <= length <= longest:
        raise InputError(f"--length {length} must be from 2 to {longest}, the positions of the model")
    if str(trained.setting("positions")).startswith("random"):
        raise InputError(
            f"{trained.path}: --positions {trained.setting('positions')} draws numbers anew for every batch, which a "
            "program does not; --model-overrides \"{'positions': 'index'}\" leaves them out"
        )


def write(trained: Trained, folder: Path, length: int) -> None:
    """Write encoder.pt2 and decoder.pt2, or model.pt2 of a language model, and the dictionaries.

    Batches have any size; sentences are padded to ``length`` tokens. A program has no cache.
    """
    check_length(trained, length)
    for name, (program, inputs) in programs(trained, length).items():
        shapes = [{0: Dim.AUTO}] * len(inputs)
        save(export(program.eval(), inputs, dynamic_shapes=shapes, strict=False), folder / f"{name}.pt2")
    for side, dictionary in trained.dictionaries.items():
        language = f".{getattr(trained.task.cfg, f'{side}_lang')}" if trained.translates else ""
        dictionary.save(str(folder / f"dict{language}.txt"))


def programs(trained: Trained, length: int) -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    """{name: (program, inputs of a batch of two)}."""
    decoder, words = trained.model.decoder, trained.dictionaries["target"]
    target = torch.full((2, length), words.eos())
    if not trained.translates:
        return {"model": (LanguageModelProgram(decoder), (target,))}
    source = torch.full((2, length), trained.dictionaries["source"].eos())
    encoder = EncoderProgram(trained.model.encoder)
    decoding = DecoderProgram(decoder, trained.model.encoder.padding_idx)
    return {"encoder": (encoder, (source,)), "decoder": (decoding, (target, encoder(source), source))}
