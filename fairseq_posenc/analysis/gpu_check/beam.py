"""Beam search in fp32 on the device, compared with the CPU."""

import copy

import torch
from fairseq.sequence_generator import SequenceGenerator

from fairseq_posenc.analysis.gpu_check.cases import TRANSLATION, batch, build, moved

TITLE = "beam: the best of four hypotheses per sentence, compared with the CPU"
STEPS = 20
#: Scores that differ by less are a tie, which rounding may break either way.
TIE = 1e-4


def rows(sizes, systems, families):
    for system in systems if TRANSLATION in families else ():
        model, (inputs, _) = build(sizes, system, TRANSLATION).eval(), batch(sizes, TRANSLATION)
        expected, actual = (best(copy.deepcopy(model), inputs[:2], device) for device in ("cpu", sizes.device))
        same = [x["tokens"].tolist() == y["tokens"].tolist() for x, y in zip(actual, expected)]
        differences = [abs(float(x["score"]) - float(y["score"])) for x, y in zip(actual, expected)]
        agrees = all(equal or difference < TIE for equal, difference in zip(same, differences))
        yield {
            "system": system,
            "same": sum(same),
            "sentences": len(same),
            "scores_apart": max(differences),
            "agrees": agrees,
        }


def best(model, inputs, device):
    """The best hypothesis of each sentence."""
    source, lengths = moved(inputs, device)
    dictionary = model.decoder.dictionary
    model = model.to(device)
    search = SequenceGenerator([model], dictionary, beam_size=4, max_len_a=0, max_len_b=STEPS, min_len=STEPS)
    with torch.no_grad():
        results = search.generate([model], {"net_input": {"src_tokens": source, "src_lengths": lengths}})
    return [hypotheses[0] for hypotheses in results]


def line(row):
    text = f"{row['same']} of {row['sentences']} sentences the same, scores differ by {row['scores_apart']:.0e}"
    return f"{row['system']:<18} {text}{'' if row['agrees'] else '  DIFFERS'}"
