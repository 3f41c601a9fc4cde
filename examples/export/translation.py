"""Translations of one trained model by fairseq, CTranslate2 and transformers: functions that return all hypotheses."""

import argparse
import tempfile
from pathlib import Path

#: Words of the longest translation, fairseq-generate's default.
LONGEST = 200


def fairseq(trained, sentences, args):
    """The hypotheses of fairseq-generate, as words, in the order of the sentences (lists of words)."""
    generator = trained.task.build_generator([trained.model], argparse.Namespace(beam=args.beam, max_len_b=LONGEST))
    dataset = trained.task.dataset("test")

    def translate():
        found = {}
        for batch in batches(sentences, args.batch):
            sample = dataset.collater([dataset[index] for index in batch])
            hypotheses = trained.task.inference_step(generator, [trained.model], sample)
            for index, (best, *_) in zip(sample["id"].tolist(), hypotheses):
                found[index] = words_of(trained.task.target_dictionary, best["tokens"])
        return in_order(found)

    return translate


def ctranslate2(trained, sentences, args, precision):
    """The same of CTranslate2, with weights in "float32" or "int8"."""
    import ctranslate2

    from fairseq_posenc.export import ctranslate2_model

    with tempfile.TemporaryDirectory() as folder:
        ctranslate2_model.write(trained, Path(folder), precision)
        translator = ctranslate2.Translator(folder, inter_threads=1, intra_threads=1, compute_type=precision)

    def translate():
        options = {"beam_size": args.beam, "max_batch_size": args.batch, "max_decoding_length": LONGEST}
        return [result.hypotheses[0] for result in translator.translate_batch(sentences, **options)]

    return translate


def huggingface(trained, sentences, args):
    """The same of transformers, with the tokenizer in the folder of the model."""
    import transformers

    from fairseq_posenc.export import hugging_face

    with tempfile.TemporaryDirectory() as folder:
        hugging_face.write(trained, Path(folder))
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def translate():
        found = {}
        for batch in batches(sentences, args.batch):
            inputs = tokenizer([" ".join(sentences[index]) for index in batch], padding=True, return_tensors="pt")
            for index, tokens in zip(batch, model.generate(**inputs, num_beams=args.beam)):
                found[index] = words_of(trained.task.target_dictionary, tokens)
        return in_order(found)

    return translate


def batches(sentences, size):
    """Lists of indices of sentences, the shortest first."""
    order = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))
    return [order[start : start + size] for start in range(0, len(order), size)]


def words_of(dictionary, tokens):
    """Tokens as words, without padding and the ends of the sentence."""
    return [dictionary[token] for token in tokens.tolist() if token not in (dictionary.pad(), dictionary.eos())]


def in_order(found):
    """The values of {index: value} by their indices."""
    return [found[index] for index in sorted(found)]
