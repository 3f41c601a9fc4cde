"""Claims of the xPos paper that the committed results can test."""

from examples.common.claims import Claim, Measured, Number, falling, holds, larger, lower_perplexity
from examples.lm.claims.perplexity import at, every, rises
from examples.lm.readme_tables import read

#: Where a result comes from, as text in the tables.
NOVELS, CODE = "novels", "source code"
#: Lengths relative to that of training.
GROWING = (1, 2, 4, 8)


def of(text, measured):
    """A measurement with the name of its text."""
    return Measured(f"{text}: {measured.text}", measured.verdict)


def resolutions(system, pattern="full"):
    """Attention resolution at the training length and at twice that length."""
    cells = {(cell["name"], cell["pattern"], cell["length"]): cell for cell in read("small/resolution")["cells"]}
    found = [cells[system, pattern, length]["resolution"] for length in (128, 256)]
    name = f"`{system}`" + ("" if pattern == "full" else " blockwise")
    return Number(f"{name} 1x", found[0], "{:.4f}"), Number("2x", found[1], "{:.4f}")


def keeps_resolution(system, pattern="full"):
    before, after = resolutions(system, pattern)
    return holds(after.value >= 0.95 * before.value, before, after)


def loses_resolution(system, pattern="full"):
    before, after = resolutions(system, pattern)
    return holds(after.value <= 0.5 * before.value, before, after)


XPOS = [
    Claim(
        "4.2, Table 2",
        "Sinusoidal: perplexity rises beyond the training length",
        lambda: [of(NOVELS, rises("all", "sinusoidal", 1, 8)), of(CODE, rises("lex-table2", "sinusoidal", 1, 8))],
    ),
    Claim(
        "4.2, Table 2",
        "RoPE: perplexity rises beyond the training length",
        lambda: [of(NOVELS, rises("all", "rope", 1, 8)), of(CODE, rises("lex-table2", "rope", 1, 8))],
    ),
    Claim(
        "4.2, Figure 1",
        "ALiBi: perplexity falls at 2x and rises from 4x on",
        lambda: [of(NOVELS, rises("all", "alibi", 2, 8)), of(CODE, rises("lex-table2", "alibi", 2, 8))],
    ),
    Claim(
        "4.2, Table 2",
        "xPos with blocks: perplexity falls with every longer length up to 8x",
        lambda: [
            of(NOVELS, falling(every("all", "xpos", GROWING, "blockwise"))),
            of(CODE, falling(every("lex-table2", "xpos", GROWING, "blockwise"))),
        ],
    ),
    Claim(
        "4.2, Table 2",
        "xPos is better than RoPE at the training length",
        lambda: [
            of(NOVELS, lower_perplexity(at("all", "xpos", 1), at("all", "rope", 1))),
            of(CODE, lower_perplexity(at("lex-table2", "xpos", 1, "blockwise"), at("lex-table2", "rope", 1))),
        ],
    ),
    Claim(
        "4.2, Table 2",
        "xPos is better than RoPE on texts shorter than in training",
        lambda: of(CODE, lower_perplexity(at("lex-table2", "xpos", 0.5, "blockwise"), at("lex-table2", "rope", 0.5))),
    ),
    Claim(
        "4.2, Table 2",
        "xPos is better than ALiBi at the training length",
        lambda: [
            of(NOVELS, lower_perplexity(at("all", "xpos", 1), at("all", "alibi", 1))),
            of(CODE, lower_perplexity(at("lex-table2", "xpos", 1, "blockwise"), at("lex-table2", "alibi", 1))),
        ],
    ),
    Claim(
        "4.2, Table 2",
        "xPos with blocks is better than ALiBi at 8x",
        lambda: [
            of(NOVELS, lower_perplexity(at("all", "xpos", 8, "blockwise"), at("all", "alibi", 8))),
            of(CODE, lower_perplexity(at("lex-table2", "xpos", 8, "blockwise"), at("lex-table2", "alibi", 8))),
        ],
    ),
    Claim(
        "1",
        "ALiBi pays for extrapolation: it is worse than RoPE at the training length",
        lambda: [
            of(NOVELS, lower_perplexity(at("all", "rope", 1), at("all", "alibi", 1))),
            of(CODE, lower_perplexity(at("lex-table2", "rope", 1), at("lex-table2", "alibi", 1))),
        ],
    ),
    Claim(
        "4.4.2, Table 5",
        "blocks cure RoPE at 8x",
        lambda: of(NOVELS, lower_perplexity(at("all", "rope", 8, "blockwise"), at("all", "rope", 8))),
    ),
    Claim(
        "4.4.2, Table 5",
        "blocks make absolute positions worse at 8x",
        lambda: of(NOVELS, lower_perplexity(at("all", "sinusoidal", 8), at("all", "sinusoidal", 8, "blockwise"))),
    ),
    Claim(
        "4.4.2, Table 5",
        "xPos without blocks: perplexity rises at 8x",
        lambda: of(NOVELS, rises("all", "xpos", 1, 8)),
    ),
    Claim(
        "4.4.2, Table 5",
        "with blocks, xPos is better than RoPE at 8x",
        lambda: of(NOVELS, lower_perplexity(at("all", "xpos", 8, "blockwise"), at("all", "rope", 8, "blockwise"))),
    ),
    Claim(
        "4.4.2, Table 5",
        "a sliding window is better than blocks for xPos at 8x",
        lambda: of(NOVELS, lower_perplexity(at("all", "xpos", 8, "window"), at("all", "xpos", 8, "blockwise"))),
    ),
    Claim(
        "4.4.2, Table 5",
        "ALiBi at 2x is better without blocks",
        lambda: of(NOVELS, lower_perplexity(at("all", "alibi", 2), at("all", "alibi", 2, "blockwise"))),
    ),
    Claim(
        "4.4.2, Table 5",
        "ALiBi at 8x is better with blocks",
        lambda: of(NOVELS, lower_perplexity(at("all", "alibi", 8, "blockwise"), at("all", "alibi", 8))),
    ),
    Claim(
        "4.3, Table 3",
        "xPos has a higher attention resolution than RoPE at the training length",
        lambda: of(NOVELS, larger(resolutions("xpos")[0], resolutions("rope")[0], 0.0)),
    ),
    Claim(
        "4.3, Table 3",
        "ALiBi keeps its resolution at 2x",
        lambda: of(NOVELS, keeps_resolution("alibi")),
    ),
    Claim(
        "4.3, Table 3",
        "Sinusoidal and RoPE lose more than half of their resolution at 2x",
        lambda: [of(NOVELS, loses_resolution("sinusoidal")), loses_resolution("rope")],
    ),
    Claim(
        "4.3, Table 3",
        "xPos with blocks keeps its resolution at 2x",
        lambda: of(NOVELS, keeps_resolution("xpos", "blockwise:128")),
    ),
    Claim(
        "4.3, Table 3",
        "without blocks, the resolution of xPos at 2x is several times that of RoPE",
        lambda: of(
            NOVELS,
            holds(
                resolutions("xpos")[1].value > 2 * resolutions("rope")[1].value,
                *(Number(f"`{name}` 2x", resolutions(name)[1].value, "{:.4f}") for name in ("xpos", "rope")),
            ),
        ),
    ),
]
