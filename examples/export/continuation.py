"""One trained language model in fairseq, CTranslate2 and transformers: the likeliest word after word, and logits.

Each program is an object; called, it continues the first words of all sentences.
"""

import argparse
import tempfile
from itertools import groupby
from pathlib import Path

import numpy as np
import torch

from examples.export.translation import LONGEST, in_order, words_of

#: Words of a sentence that are continued.
PROMPT = 3


class Fairseq:
    """fairseq-interactive with --beam 1, and the model itself."""

    def __init__(self, trained, sentences, args):
        options = argparse.Namespace(beam=1, max_len_b=LONGEST)
        self.model, self.task = trained.model, trained.task
        self.prompts, self.batch = prompts(sentences), args.batch
        self.generator = self.task.build_generator([self.model], options)

    def __call__(self):
        found = {}
        for batch in batches(self.prompts, self.batch):
            sample = {"net_input": {"src_tokens": tokens_of(self.task, [self.prompts[index] for index in batch])}}
            hypotheses = self.task.inference_step(self.generator, [self.model], sample)
            for index, (best,) in zip(batch, hypotheses):
                found[index] = words_of(self.task.target_dictionary, best["tokens"])
        return in_order(found)

    def logits(self, words):
        """(T + 1, V): before the first word and after every word."""
        return self.model(tokens_of(self.task, [words]))[0][0]


class CTranslate2:
    """CTranslate2, with weights in "float32" or "int8"."""

    def __init__(self, trained, sentences, args, precision):
        import ctranslate2

        from fairseq_posenc.export import ctranslate2_model

        self.end = [trained.task.target_dictionary.eos_word]
        self.prompts, self.batch = prompts(sentences), args.batch
        with tempfile.TemporaryDirectory() as folder:
            ctranslate2_model.write(trained, Path(folder), precision)
            self.generator = ctranslate2.Generator(folder, inter_threads=1, intra_threads=1, compute_type=precision)

    def __call__(self):
        options = {"max_batch_size": self.batch, "max_length": LONGEST, "include_prompt_in_result": False}
        results = self.generator.generate_batch([self.end + words for words in self.prompts], **options)
        return [(words + result.sequences[0])[:LONGEST] for words, result in zip(self.prompts, results)]

    def logits(self, words):
        return torch.from_numpy(np.array(self.generator.forward_batch([self.end + words])))[0]


class HuggingFace:
    """transformers, with the tokenizer in the folder of the model."""

    def __init__(self, trained, sentences, args):
        import transformers

        from fairseq_posenc.export import hugging_face

        self.dictionary = trained.task.target_dictionary
        self.prompts, self.batch = prompts(sentences), args.batch
        with tempfile.TemporaryDirectory() as folder:
            hugging_face.write(trained, Path(folder))
            self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def __call__(self):
        found = {}
        for batch in batches(self.prompts, self.batch):
            inputs = self.tokenizer([" ".join(self.prompts[index]) for index in batch], return_tensors="pt")
            output = self.model.generate(**inputs, max_new_tokens=LONGEST, do_sample=False)
            found |= {index: words_of(self.dictionary, tokens)[:LONGEST] for index, tokens in zip(batch, output)}
        return in_order(found)

    @torch.no_grad()
    def logits(self, words):
        return self.model(**self.tokenizer(" ".join(words), return_tensors="pt")).logits[0]


def prompts(sentences):
    """The first words of every sentence."""
    return [words[:PROMPT] for words in sentences]


def batches(texts, size):
    """Lists of indices of texts of one length, which need no padding."""
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    groups = [list(group) for _, group in groupby(order, key=lambda index: len(texts[index]))]
    return [group[start : start + size] for group in groups for start in range(0, len(group), size)]


def tokens_of(task, texts):
    """(B, T + 1): the end of a sentence, as fairseq's language models begin, and the words."""
    words = task.source_dictionary
    return torch.tensor([[words.eos(), *(words.index(word) for word in text)] for text in texts])
