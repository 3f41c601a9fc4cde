"""The parts of a command's time: attention, feed-forward, output layer and loss, optimizer, search, cache, the rest.

A clock switches between parts in hooks of modules, in hooks of gradients for the backward pass, and around functions
that every model, optimizer and generator of fairseq has. On a GPU it waits for the device at every switch, so that the
whole takes longer than without a profile.
"""

from contextlib import ExitStack, contextmanager
from functools import wraps

from fairseq import criterions, models
from fairseq.sequence_scorer import SequenceScorer
from fairseq.tasks import FairseqTask
from fairseq.trainer import Trainer

from fairseq_posenc.analysis.commands.products import Products
from fairseq_posenc.analysis.timer import now
from fairseq_posenc.generation.stepwise import Stepwise

ATTENTION, FEED_FORWARD, OUTPUT, REST = "attention", "feed_forward", "output", "rest"
OPTIMIZER, ENCODER, CACHE, SEARCH = "optimizer", "encoder", "cache", "search"
#: The parts of each command.
PARTS = {
    "train": (ATTENTION, FEED_FORWARD, OUTPUT, OPTIMIZER, REST),
    "generate": (ENCODER, ATTENTION, FEED_FORWARD, OUTPUT, CACHE, SEARCH, REST),
    "eval-lm": (ATTENTION, FEED_FORWARD, OUTPUT, REST),
}
#: The function that each command calls once per batch; the part that runs in it where no other does; the units of
#: speed in its arguments.
BATCH = {
    "train": (Trainer, "train_step", REST, lambda trainer, samples: sum(sample["ntokens"] for sample in samples)),
    "generate": (FairseqTask, "inference_step", SEARCH, lambda task, generator, models, sample, **_: len(sample["id"])),
    "eval-lm": (SequenceScorer, "generate", OUTPUT, lambda scorer, models, sample: sample["ntokens"]),
}
#: The first batch allocates memory and is left out; the matrix products of the second are recorded; others are timed.
RECORDED = 2


class Clock:
    """Adds time to exactly one part at every moment.

    Attributes:
        part: the part that runs now; seconds: {part: its seconds since the last restart}.
    """

    def __init__(self, device, parts):
        self.device, self.parts, self.part = device, parts, REST
        self.restart()

    def restart(self):
        self.seconds = dict.fromkeys(self.parts, 0.0)
        self._since = now(self.device)

    def switch(self, part):
        """From now on, ``part`` runs."""
        moment = now(self.device)
        self.seconds[self.part] += moment - self._since
        self.part, self._since = part, moment

    @contextmanager
    def inside(self, part):
        """While inside, ``part`` runs, except where other parts inside it do."""
        before = self.part
        self.switch(part)
        try:
            yield
        finally:
            self.switch(before)


class Profile:
    """Context manager that takes the time of the parts of one command, in the process that runs it.

    Args:
        tool: "train", "generate" or "eval-lm".
        device: "cpu" or "cuda".
    """

    def __init__(self, tool, device):
        self.tool, self.device = tool, device
        self.clock, self.products = Clock(device, PARTS[tool]), Products()
        self.batches, self.units, self.seconds, self.parts = 0, 0, 0.0, {}

    def __enter__(self):
        self._patches = ExitStack()
        owner, name, part, units = BATCH[self.tool]
        self._patch(owner, name, lambda function: self._counted(self._timed(function, part), units))
        self._patch(models, "build_model", lambda function: self._followed(function, self._watch_model))
        self._patch(criterions, "build_criterion", lambda function: self._followed(function, self._watch_criterion))
        self._patch(Trainer, "_build_optimizer", self._watching_the_optimizer)
        self._patch(Stepwise, "log_probs", lambda function: self._timed(function, OUTPUT))
        return self

    def __exit__(self, *exception):
        self._patches.close()

    def result(self):
        """What has been measured, for one batch.

        Returns:
            {"batches": how many were timed, "seconds": per batch, "parts": {part: seconds per batch}, "units": of
            speed in the recorded batch, "flops" and "product_seconds": of the recorded batch's matrix products alone}.
        """
        timed = self.batches - RECORDED
        return {
            "batches": timed,
            "seconds": self.seconds / timed,
            "parts": {part: seconds / timed for part, seconds in self.parts.items()},
            "units": self.units,
            "flops": self.products.flops(),
            "product_seconds": self.products.seconds(),
        }

    # ---- functions in which a part runs ------------------------------------------------------------------------------
    def _patch(self, owner, name, change):
        """Replace a function of fairseq until the end of this profile."""
        function = getattr(owner, name)
        setattr(owner, name, change(function))
        self._patches.callback(setattr, owner, name, function)

    def _timed(self, function, part):
        @wraps(function)
        def timed(*args, **options):
            with self.clock.inside(part):
                return function(*args, **options)

        return timed

    def _time(self, owner, part, *names):
        """Let ``part`` run in these functions of an object."""
        for name in names:
            setattr(owner, name, self._timed(getattr(owner, name), part))

    def _followed(self, function, watch):
        """``function``, which builds something, and then ``watch``."""

        @wraps(function)
        def building(*args, **options):
            built = function(*args, **options)
            watch(built)
            return built

        return building

    def _counted(self, function, units):
        """The function of a batch, with what is done between batches."""

        @wraps(function)
        def batch(*args, **options):
            self.batches += 1
            if self.batches == RECORDED:
                with self.products:
                    result = function(*args, **options)
                self.units = int(units(*args, **options))
                self.clock.restart()
                self._begin = now(self.device)
                return result
            result = function(*args, **options)
            if self.batches > RECORDED:
                self.seconds, self.parts = now(self.device) - self._begin, dict(self.clock.seconds)
            return result

        return batch

    # ---- what is built -----------------------------------------------------------------------------------------------
    def _watch_model(self, model):
        self._time(model, OUTPUT, "get_normalized_probs")
        if hasattr(model, "encoder"):
            self._time(model.encoder, CACHE, "reorder_encoder_out")
            if self.tool == "generate":
                self._time(model.encoder, ENCODER, "forward")
            else:
                self._time(model.encoder, REST, "forward")
                self._watch_layers(model.encoder.layers)
        decoder = model.decoder
        self._time(decoder, CACHE, "reorder_incremental_state", "reorder_incremental_state_scripting")
        if hasattr(decoder, "reorder_hypotheses"):
            self._time(decoder, CACHE, "reorder_hypotheses")
        self._time(decoder, OUTPUT, "output_layer")
        self._time(decoder, REST, "extract_features")
        features = decoder.extract_features

        @wraps(features)
        def extract_features(*args, **options):
            result = features(*args, **options)
            self._at_gradient(result[0], REST)
            return result

        decoder.extract_features = extract_features
        self._watch_layers(decoder.layers)

    def _watch_layers(self, layers):
        for layer in layers:
            for attention in (layer.self_attn, getattr(layer, "encoder_attn", None)):
                if attention is not None:
                    self._watch_modules(attention, attention, ATTENTION)
                    self._time(attention, CACHE, "reorder_incremental_state")
            self._watch_modules(layer.fc1, layer.fc2, FEED_FORWARD)

    def _watch_modules(self, first, last, part):
        """Let ``part`` run from the start of module ``first`` to the end of module ``last``, forward and backward."""
        before = []

        def enter(module, args, options):
            before.append(self.clock.part)
            self.clock.switch(part)
            self._at_gradient(args[0] if args else options["query"], REST)

        def leave(module, args, output):
            self.clock.switch(before.pop())
            self._at_gradient(output[0] if isinstance(output, tuple) else output, part)

        first.register_forward_pre_hook(enter, with_kwargs=True)
        last.register_forward_hook(leave)

    def _at_gradient(self, x, part):
        """Let ``part`` run from where the backward pass has the gradient of ``x``."""
        if x.requires_grad:
            x.register_hook(lambda gradient: self.clock.switch(part))

    def _watch_criterion(self, criterion):
        self._time(criterion, OUTPUT, "forward")

    def _watching_the_optimizer(self, build):
        @wraps(build)
        def building(trainer):
            build(trainer)
            optimizer = trainer._optimizer
            # The backward pass begins in the loss; the gradients that modules get then switch to other parts.
            self._time(optimizer, OUTPUT, "backward")
            self._time(optimizer, OPTIMIZER, "multiply_grads", "clip_grad_norm", "step", "zero_grad")

        return building
