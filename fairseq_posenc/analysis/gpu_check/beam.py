"""Beam search in fp32 on the device, beside the CPU's."""

import copy

import torch
from fairseq.sequence_generator import SequenceGenerator

from fairseq_posenc.analysis.gpu_check.cases import TRANSLATION, batch, build, moved

TITLE = "beam: the best of four hypotheses of each sentence, against the CPU's"
STEPS = 20
#: Scores that differ by less are a tie, which rounding may break either way.
TIE = 1e-4


def rows(sizes, systems, families):
    for system in systems if TRANSLATION in families else ():
        model, (inputs, _) = build(sizes, system, TRANSLATION).eval(), batch(sizes, TRANSLATION)
        expected, found = (best(copy.deepcopy(model), inputs[:2], device) for device in ("cpu", sizes.device))
        same = [x["tokens"].tolist() == y["tokens"].tolist() for x, y in zip(found, expected)]
        apart = [abs(float(x["score"]) - float(y["score"])) for x, y in zip(found, expected)]
        agrees = all(equal or distance < TIE for equal, distance in zip(same, apart))
        yield {
            "system": system,
            "same": sum(same),
            "sentences": len(same),
            "scores_apart": max(apart),
            "agrees": agrees,
        }


def best(model, inputs, device):
    """The best hypothesis of each sentence."""
    source, lengths = moved(inputs, device)
    words = model.decoder.dictionary
    model = model.to(device)
    search = SequenceGenerator([model], words, beam_size=4, max_len_a=0, max_len_b=STEPS, min_len=STEPS)
    with torch.no_grad():
        found = search.generate([model], {"net_input": {"src_tokens": source, "src_lengths": lengths}})
    return [hypotheses[0] for hypotheses in found]


def line(row):
    text = f"{row['same']} of {row['sentences']} sentences the same, scores apart by {row['scores_apart']:.0e}"
    return f"{row['system']:<18} {text}{'' if row['agrees'] else '  DIFFERS'}"
