"""Beam search in fp32 on the device, compared with fairseq's generator on the CPU."""

import copy

import torch
from fairseq.sequence_generator import SequenceGenerator

from fairseq_posenc.analysis.gpu_check.cases import TRANSLATION, batch, build, moved
from fairseq_posenc.generation.generator import generator_class

TITLE = "beam: the best of four hypotheses per sentence, compared with fairseq's generator on the CPU"
STEPS = 20
#: Scores that differ by less are a tie, which rounding may break either way.
TIE = 1e-4


def rows(sizes, systems, families):
    for system in systems if TRANSLATION in families else ():
        model, (inputs, _) = build(sizes, system, TRANSLATION).eval(), batch(sizes, TRANSLATION)
        expected = best(copy.deepcopy(model), inputs[:2], "cpu", SequenceGenerator)
        actual = best(copy.deepcopy(model), inputs[:2], sizes.device, generator_class([model]))
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


def best(model, inputs, device, generator):
    """The best hypothesis of each sentence, by this class of generators."""
    source, lengths = moved(inputs, device)
    dictionary = model.decoder.dictionary
    model = model.to(device)
    search = generator([model], dictionary, beam_size=4, max_len_a=0, max_len_b=STEPS, min_len=STEPS)
    with torch.no_grad():
        results = search.generate([model], {"net_input": {"src_tokens": source, "src_lengths": lengths}})
    return [hypotheses[0] for hypotheses in results]


def line(row):
    text = f"{row['same']} of {row['sentences']} sentences the same, scores differ by {row['scores_apart']:.0e}"
    return f"{row['system']:<18} {text}{'' if row['agrees'] else '  DIFFERS'}"
