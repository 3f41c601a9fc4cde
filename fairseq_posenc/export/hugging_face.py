"""Models in the format of Hugging Face's transformers, as a model that it has, with a tokenizer of words."""

from pathlib import Path
from typing import Any

import transformers
from fairseq.data import Dictionary
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing

from fairseq_posenc.export.checkpoint import Trained
from fairseq_posenc.export.hugging_face_common import NAME, check_decoder, special_tokens
from fairseq_posenc.export.hugging_face_language_models import language_model
from fairseq_posenc.export.hugging_face_translation import translation
from fairseq_posenc.export.refusals import check_plain


def write(trained: Trained, folder: Path) -> None:
    """Write config.json, the weights, generation_config.json and the tokenizer of the source into a folder.

    The tokenizer of the target is in the folder ``target`` where its dictionary is another one.
    """
    converted(trained).save_pretrained(folder)
    dictionaries = trained.dictionaries
    target = dictionaries["target"]
    source = dictionaries.get("source", target)
    tokenizer(source, trained.translates).save_pretrained(folder)
    if source != target:
        tokenizer(target, trained.translates).save_pretrained(folder / "target")


def converted(trained: Trained) -> Any:
    """The model of transformers with the weights of a trained model. Raises InputError if there is none."""
    check_plain(trained, NAME)
    check_decoder(trained)
    model, weights = translation(trained) if trained.translates else language_model(trained)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    # Sinusoids and a bias of zeros are not trained.
    missing = [name for name in missing if "embed_positions" not in name and name != "final_logits_bias"]
    if missing or unexpected:
        raise RuntimeError(f"this version of transformers has other weights: {missing} or {unexpected}")
    model.generation_config = generation(trained)
    return model.eval()


def generation(trained: Trained) -> transformers.GenerationConfig:
    """The defaults of fairseq-generate, for translation models."""
    tokens = special_tokens(trained)
    if not trained.translates:
        return transformers.GenerationConfig(**tokens)
    return transformers.GenerationConfig(
        **tokens,
        decoder_start_token_id=tokens["eos_token_id"],
        forced_eos_token_id=tokens["eos_token_id"],
        suppress_tokens=[tokens["pad_token_id"]],
        num_beams=5,
        early_stopping=True,
        min_new_tokens=1,
        max_new_tokens=201,  # 200 words and the end of the sentence
    )


def tokenizer(dictionary: Dictionary, translates: bool) -> transformers.PreTrainedTokenizerFast:
    """Words with spaces between them, as fairseq's commands read them -> their numbers in the dictionary.

    A sentence to translate ends with the end of a sentence. A text of a language model begins with it, and is padded
    on the left, so that a batch of texts can be continued.
    """
    words = Tokenizer(WordLevel({word: number for number, word in enumerate(dictionary.symbols)}, dictionary.unk_word))
    words.pre_tokenizer = WhitespaceSplit()
    end = dictionary.eos_word
    words.post_processor = TemplateProcessing(
        single=f"$A {end}" if translates else f"{end} $A", special_tokens=[(end, dictionary.eos())]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        bos_token=dictionary.bos_word if translates else end,
        eos_token=end,
        pad_token=dictionary.pad_word,
        unk_token=dictionary.unk_word,
        padding_side="right" if translates else "left",
        clean_up_tokenization_spaces=False,
    )
