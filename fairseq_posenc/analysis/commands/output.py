"""What fairseq's commands say of their speed."""

import json
import re
import statistics

#: The first updates of a training are slower: memory is allocated, and the optimizer's state is made.
WARM_UP = 2


def training_speed(output):
    """{"rate": words per second, the median over the log's intervals after WARM_UP, "loss": of the last one}."""
    log = [json.loads(text) for text in re.findall(r"train_inner \| (\{.*\})", output)]
    rates = [float(entry["wps"]) for entry in log[WARM_UP:]]
    return {"rate": statistics.median(rates), "loss": float(log[-1]["loss"])}


def generation_speed(output):
    """{"rate": sentences per second}."""
    return {"rate": float(re.search(r"Translated .*\(([\d.]+) sentences/s", output)[1])}


def evaluation_speed(output):
    """{"rate": tokens per second, "loss": in bits per token}."""
    rate = re.search(r"Evaluated .*\(([\d.]+) tokens/s", output)[1]
    return {"rate": float(rate), "loss": float(re.search(r"Loss \(base 2\): (\S+),", output)[1])}
