"""Any flags of one command line together: one line, or a model that reads a text the same in one pass and by steps."""

import contextlib
import io

import torch
from hypothesis import event, given
from hypothesis import strategies as st

from fairseq_posenc.encodings import encoding_class, encoding_names
from tests.support.fuzzing import examples, is_refused
from tests.support.models import SMALL, SMALL_LM, batch, build_model, text, words_of

#: Flag -> values that it takes, some of which contradict other flags.
OURS = {
    "--attention-pattern": ["full", "window:5", "blockwise:8", "sinks:2,window:4", "sinks:1,blockwise:4"],
    "--positions": ["index", "shift:7", "random:40", "continuous:5,0", "scale:2.5"],
    "--distance": ["plain", "clamp:3", "group:4,2"],
    "--attention-scale": ["plain", "log-n:6", "ssmax:0.4", "yarn:2"],
    "--max-target-positions": [22, 30],
}
#: A cache that is shorter than the text hides keys that one pass sees.
LANGUAGE_MODELS = {"--cache-size": [30], "--tokens-per-sample": [8, 22]}
TRANSLATION = {
    "--encoder-position-encoding": encoding_names(),
    "--decoder-position-encoding": encoding_names(),
    "--encoder-attention-heads": [1, 4],
    "--max-source-positions": [6, 22],
}
#: fairseq's: None stands for a flag without a value.
STOCK = {
    "--decoder-attention-heads": [1, 4],
    "--decoder-normalize-before": [None],
    "--encoder-normalize-before": [None],
    "--layernorm-embedding": [None],
    "--share-all-embeddings": [None],
    "--share-decoder-input-output-embed": [None],
    "--decoder-input-dim": [8],
    "--decoder-output-dim": [24],
    "--no-scale-embedding": [None],
    "--decoder-learned-pos": [None],
    "--no-token-positional-embeddings": [None],
    "--no-cross-attention": [None],
    "--cross-self-attention": [None],
    "--scale-heads": [None],
    "--scale-fc": [None],
    "--checkpoint-activations": [None],
    "--adaptive-input": [None],
    "--activation-fn": ["gelu", "swish"],
    "--encoder-layers-to-keep": ["0"],
    "--decoder-layers-to-keep": ["1"],
}


def flags_of(encodings):
    """Flag -> values of the encodings' options: those of a choice, small numbers, and numbers out of range."""
    numbers = {int: [0, 2, 3, 8, 16], float: [0.0, 0.5, 1.0, 2.0]}
    found = [option for name in encodings for option in encoding_class(name).options().values()]
    return {o.flag: list(o.choices) if o.choices else numbers.get(o.type, ["1,1.5"]) for o in found}


@st.composite
def command_lines(draw, small, known):
    encoding = draw(st.sampled_from(encoding_names()))
    flags = {**small, "--position-encoding": encoding}
    drawn = draw(st.dictionaries(st.sampled_from(list(known)), st.none(), max_size=6))
    flags |= {flag: draw(st.sampled_from(known[flag]), label=flag) for flag in drawn}
    used = [value for flag, value in flags.items() if flag.endswith("-position-encoding")]
    own = flags_of(used)
    if own:
        drawn = draw(st.dictionaries(st.sampled_from(list(own)), st.none(), max_size=2))
        flags |= {flag: draw(st.sampled_from(own[flag]), label=flag) for flag in drawn}
    return [word for word in words_of(flags) if word != "None"]


def built(arch, words):
    """The model without dropout, or None where one line refuses the flags."""
    found, errors = [], io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            refused = is_refused(lambda: found.append(build_model(arch, *words)))
    except SystemExit:  # of argparse
        assert ": error: " in errors.getvalue().splitlines()[-1]
        refused = True
    event("refused" if refused else "built")
    return None if refused else found[0]


def check(decoder, tokens, one_pass, **given):
    """Gradients are finite, and the same comes out by steps as in one pass with the same draw of positions."""
    torch.manual_seed(5)
    whole, real = one_pass()[0], tokens != 1
    assert whole.isfinite().all()
    whole[real].pow(2).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in decoder.parameters())
    torch.manual_seed(5)
    state, steps, length = {}, [], tokens.size(1)
    with torch.no_grad():
        decoder.begin_hypotheses(state, length, tokens.device)
        for end in (2, *range(3, length + 1)):
            steps.append(decoder(tokens[:, :end], incremental_state=state, **given)[0])
    torch.testing.assert_close(torch.cat(steps, dim=1)[real], whole[real], atol=2e-5, rtol=1e-4)


@examples(60)
@given(words=command_lines(SMALL_LM, {**OURS, **LANGUAGE_MODELS, **STOCK}))
def test_language_models(words):
    model = built("transformer_lm_posenc", ["--task", "language_modeling", *words])
    if model is not None:
        tokens = text((20, 9, 15))
        is_refused(check, model.decoder, tokens, lambda: model(tokens))


@examples(60)
@given(words=command_lines(SMALL, {**OURS, **TRANSLATION, **STOCK}))
def test_translation(words):
    model = built("transformer_posenc", words)
    if model is not None:
        sample = batch(lengths=(6, 3, 5), target_lengths=(17, 6, 9))
        torch.manual_seed(4)
        found = []
        if is_refused(lambda: found.append(model.encoder(sample["src_tokens"], sample["src_lengths"]))):
            return
        tokens = sample["prev_output_tokens"]
        given = {"encoder_out": found[0]}
        is_refused(check, model.decoder, tokens, lambda: model.decoder(tokens, **given), **given)
