"""Checkpoints of small models with varied outputs, and what fairseq makes of them."""

import torch
from fairseq import checkpoint_utils, models, options, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.sequence_generator import SequenceGenerator

from tests.support.generation import varied
from tests.support.language_models import save
from tests.support.models import architecture, lm_architecture, randomize, small_flags, small_lm_flags


def write_model(path, data, encoding, *flags, language_model=False, updates=0, seed=1):
    """A checkpoint of a small model whose weights all matter; return its path as text.

    ``updates``: of a translation model that learns the sentences of the split "test", so that it ends hypotheses.
    """
    arch, small = (lm_architecture, small_lm_flags) if language_model else (architecture, small_flags)
    parser = options.get_training_parser()
    words = [str(data), "--arch", arch(encoding), "--seed", str(seed), *small(encoding), *map(str, flags)]
    cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, words))
    task = tasks.setup_task(cfg.task)
    torch.manual_seed(seed)
    model = randomize(models.build_model(cfg.model, task))
    if updates:
        train(model, task, updates)
    else:
        varied(model, seed=seed)
    save(path, cfg, model.state_dict())
    return str(path)


def train(model, task, updates):
    """Let a translation model learn the split "test" by heart."""
    task.load_dataset("test")
    dataset = task.dataset("test")
    sample = dataset.collater([dataset[index] for index in range(len(dataset))])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(updates):
        logits = model(**sample["net_input"])[0].transpose(1, 2)
        loss = torch.nn.functional.cross_entropy(logits, sample["target"], ignore_index=1, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def load(path):
    """The model of a checkpoint and its task, as fairseq-generate loads them."""
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([str(path)])
    return model.eval(), task


def sources(task, subset="test", count=20):
    """The first sentences of a split, as words without the end of the sentence."""
    task.load_dataset(subset)
    dataset = task.dataset(subset)
    return [words_of(task.source_dictionary, dataset[index]["source"]) for index in range(count)]


def words_of(dictionary, tokens):
    """Tokens as words, without the end of the sentence."""
    return [dictionary[token] for token in tokens.tolist() if token != dictionary.eos()]


def tokens_of(dictionary, words, ends=True):
    """(1, T): words, and the end of the sentence after them or before them."""
    tokens, end = [dictionary.index(word) for word in words], [dictionary.eos()]
    return torch.tensor([tokens + end if ends else end + tokens])


def log_probabilities(model, task, sentence, words):
    """(T,) in fp32: those of the words of a translation and of its end, where padding has the probability 0."""
    source, target = tokens_of(task.source_dictionary, sentence), tokens_of(task.target_dictionary, words)
    previous = tokens_of(task.target_dictionary, words, ends=False)
    with torch.no_grad():
        logits = model(source, torch.tensor([source.size(1)]), previous)[0]
    logits[..., task.target_dictionary.pad()] = -torch.inf
    return logits.log_softmax(dim=-1)[0].gather(1, target[0].unsqueeze(1)).squeeze(1)


def hypotheses(model, task, sentences, beam=4, **options):
    """The words that fairseq's own beam search finds for each sentence."""
    generator = SequenceGenerator([model], task.target_dictionary, beam_size=beam, **options)
    found = []
    for sentence in sentences:
        tokens = tokens_of(task.source_dictionary, sentence)
        sample = {"net_input": {"src_tokens": tokens, "src_lengths": torch.tensor([tokens.size(1)])}}
        best = generator.generate([model], sample)[0][0]
        found.append(words_of(task.target_dictionary, best["tokens"]))
    return found
