"""Claims of the PosNet paper that the committed results can test."""

from examples.common.claims import BLEU, Claim, Measured, Number, claim_table, holds, larger, marked
from examples.wmt14.readme_tables import read

PAIRS = {"en-de": "English-German", "en-fr": "English-French"}


# ---- numbers of the results ----------------------------------------------------------------------------------------
def bleu(pair, system):
    """BLEU of a row of Table 1, with its mark of significance against ``sinusoidal``."""
    (row,) = (row for row in read(f"small/table1-{pair}")["pairs"][pair]["systems"] if row["name"] == system)
    mark = row["bleu_mark"] if system != "sinusoidal" else ""
    return Number(f"`{system}`", row["bleu"], "{:.2f}", row["bleu_deviation"], mark)


def in_both(compare):
    """A comparison in both language pairs."""
    found = {pair: compare(pair) for pair in PAIRS}
    return [Measured(f"{PAIRS[pair]}: {one.text}", one.verdict) for pair, one in found.items()]


def against_sinusoidal(system, better):
    return lambda: in_both(lambda pair: marked(bleu(pair, system), bleu(pair, "sinusoidal"), better))


def ahead_of(one, other):
    return lambda: in_both(lambda pair: larger(bleu(pair, one), bleu(pair, other), BLEU))


def kernels():
    """BLEU on the validation set by kernel dimension."""
    (rows,) = (pair["systems"] for pair in read("small/figure3-table")["pairs"].values())
    return {int(row["name"].rpartition("-")[2]): row["bleu"] for row in rows}


def kernel_numbers():
    return [Number(f"dimension {dim}", score, "{:.2f}") for dim, score in sorted(kernels().items())]


def forward(system):
    """The time of the forward pass, relative to stock fairseq with sinusoidal positions."""
    return Number(f"`{system}`", read("small/figure2")["forward"][system]["ratio_to_stock"], "{:.2f}")


def memory(system):
    """Peak memory, relative to ``sinusoidal``."""
    peaks = read("small/table3")["peak_memory_bytes"]
    return Number(f"`{system}`", peaks[system] / peaks["sinusoidal"], "{:.2f}")


def lead_by_n_grams(kind):
    """How far posnet-embed is ahead of sinusoidal, for the shortest and the longest n-grams."""
    grains = read("small/figure4-en-de")["grains"][kind]
    first, last = (
        Number(f"{kind}, n = {grain['n']}:", grain["gaps"]["posnet-embed"]) for grain in (grains[0], grains[-1])
    )
    return larger(last, first, 0.5)


POSNET = [
    Claim(
        "4.2, Table 1", "without positions, translation is drastically worse", against_sinusoidal("none", better=False)
    ),
    Claim("4.2, Table 1", "PosNet-Attn is better than no positions", ahead_of("posnet-attn", "none")),
    Claim(
        "4.2, Table 1",
        "PosNet-Attn is worse than sinusoidal positions",
        against_sinusoidal("posnet-attn", better=False),
    ),
    Claim(
        "4.2, Table 1",
        "PosNet-Embed is better than sinusoidal positions",
        against_sinusoidal("posnet-embed", better=True),
    ),
    Claim("4.2, Table 1", "PosNet-Embed is better than learned positions", ahead_of("posnet-embed", "learned")),
    Claim("4.2, Table 1", "PosNet-Embed is better than Shaw's method", ahead_of("posnet-embed", "shaw")),
    Claim("Table 1", "PosNet-Embed is better than Adaptive-T5", ahead_of("posnet-embed", "adaptive-t5")),
    Claim("Table 1", "learned positions are worse than sinusoidal ones", against_sinusoidal("learned", better=False)),
    Claim(
        "Table 1",
        "Shaw's method is within half a BLEU point of sinusoidal positions",
        lambda: in_both(
            lambda pair: holds(
                abs(bleu(pair, "shaw").value - bleu(pair, "sinusoidal").value) <= 0.5,
                bleu(pair, "shaw"),
                bleu(pair, "sinusoidal"),
            )
        ),
    ),
    Claim(
        "4.2, Figure 2",
        "Shaw's method and Adaptive-T5 need clearly more time (at least 5 %) in the forward pass",
        lambda: [holds(forward(name).value >= 1.05, forward(name)) for name in ("shaw", "adaptive-t5")],
    ),
    Claim(
        "4.2, Figure 2",
        "PosNet needs no more time than sinusoidal positions (within 3 %)",
        lambda: [holds(forward(name).value <= 1.03, forward(name)) for name in ("posnet-embed", "posnet-attn")],
    ),
    Claim(
        "4.2, A.2, Table 3",
        "memory is comparable (within 10 % of sinusoidal positions)",
        lambda: [
            holds(abs(memory(name).value - 1) <= 0.1, memory(name))
            for name in ("none", "learned", "adaptive-t5", "posnet-embed", "posnet-attn")
        ],
    ),
    Claim(
        "4.2, A.2, Table 3",
        "Shaw's method needs clearly more memory (at least 5 %)",
        lambda: holds(memory("shaw").value >= 1.05, memory("shaw")),
    ),
    Claim(
        "5, Figure 3",
        "PosNet's kernel dimension of 128 is best",
        lambda: holds(max(kernels(), key=kernels().get) == 128, *kernel_numbers()),
    ),
    Claim(
        "5, Figure 3",
        "a kernel dimension of 96 is worst",
        lambda: holds(min(kernels(), key=kernels().get) == 96, *kernel_numbers()),
    ),
    Claim(
        "5, Figure 4",
        "PosNet-Embed's lead over sinusoidal positions grows with longer n-grams",
        lambda: [lead_by_n_grams(kind) for kind in ("character", "word", "bleu")],
    ),
]
TABLES = {"posnet-claims": lambda: claim_table(POSNET)}
