"""Frequencies and attention factors of scaled RoPE, as Hugging Face's ``transformers`` computes them.

``python -m tests.support.hugging_face_frequencies`` writes them anew, where ``transformers`` is installed.
"""

import json
from pathlib import Path

#: What it wrote, with the version of ``transformers``.
FILE = Path(__file__).with_suffix(".json")

LONGROPE = {
    "short_factor": ",".join(str(1 + 0.05 * i) for i in range(8)),
    "long_factor": ",".join(str(1 + 0.5 * i) for i in range(8)),
}
#: Our options (base 10000 and 16 dimensions where they do not say), and the length of the text.
CASES = [
    ({"scaling": "linear", "scaling_factor": 4.0}, 512),
    ({"scaling": "linear", "scaling_factor": 8.0, "base": 500000.0, "dim": 128}, 512),
    ({"scaling": "dynamic-ntk", "scaling_factor": 2.0, "original_length": 128}, 100),
    ({"scaling": "dynamic-ntk", "scaling_factor": 2.0, "original_length": 128}, 129),
    ({"scaling": "dynamic-ntk", "scaling_factor": 4.0, "original_length": 128, "dim": 64}, 1000),
    ({"scaling": "yarn", "scaling_factor": 4.0, "original_length": 128, "dim": 64}, 512),
    ({"scaling": "yarn", "scaling_factor": 32.0, "original_length": 4096, "dim": 128}, 512),
    ({"scaling": "yarn", "scaling_factor": 4.0, "original_length": 2048, "beta_fast": 16.0, "beta_slow": 2.0}, 512),
    ({"scaling": "yarn", "scaling_factor": 4.0, "original_length": 2048, "attention_factor": 1.25}, 512),
    ({"scaling": "yarn", "scaling_factor": 4.0, "original_length": 64, "base": 2.0}, 512),
    ({"scaling": "llama3", "scaling_factor": 8.0, "original_length": 8192, "base": 500000.0, "dim": 128}, 512),
    (
        {
            "scaling": "llama3",
            "scaling_factor": 16.0,
            "original_length": 128,
            "low_freq_factor": 2.0,
            "high_freq_factor": 8.0,
        },
        512,
    ),
    ({"scaling": "longrope", "scaling_factor": 4.0, "original_length": 128, **LONGROPE}, 128),
    ({"scaling": "longrope", "scaling_factor": 4.0, "original_length": 128, **LONGROPE}, 129),
    ({"scaling": "longrope", "original_length": 128, "attention_factor": 1.1, **LONGROPE}, 129),
    ({"keep": 0.75, "dim": 128}, 512),
]
THEIR_NAMES = {"dynamic-ntk": "dynamic", None: "proportional"}


def computed():
    """{"transformers": version, "cases": [{"options", "length", "frequencies", "attention_factor"}]}."""
    import transformers
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    cases = []
    for options, length in CASES:
        method = options.get("scaling")
        name = THEIR_NAMES.get(method, method)
        theirs = {"rope_type": name, "rope_theta": options.get("base", 10000.0)}
        if method == "llama3":
            theirs |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
        for option, value in options.items():
            if option == "original_length":
                theirs["original_max_position_embeddings"] = value
            elif option == "scaling_factor":
                theirs["factor"] = value
            elif option == "keep":
                theirs["partial_rotary_factor"] = value
            elif option in ("short_factor", "long_factor"):
                theirs[option] = [float(number) for number in value.split(",")]
            elif option not in ("scaling", "base", "dim"):
                theirs[option] = value
        original = options.get("original_length", 512)
        dim = options.get("dim", 16)
        config = transformers.LlamaConfig(
            hidden_size=dim, num_attention_heads=1, head_dim=dim, max_position_embeddings=original
        )
        config.rope_parameters = theirs
        frequencies, factor = ROPE_INIT_FUNCTIONS[name](config, "cpu", seq_len=length)
        cases.append(
            {"options": options, "length": length, "frequencies": frequencies.tolist(), "attention_factor": factor}
        )
    return {"transformers": transformers.__version__, "cases": cases}


if __name__ == "__main__":
    FILE.write_text(json.dumps(computed(), indent=1) + "\n")
