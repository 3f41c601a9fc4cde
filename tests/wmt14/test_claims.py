"""What the README says of English-German news by length is what the committed results say."""

import pytest

from examples.wmt14.readme_tables import read
from fairseq_posenc.plots.length_band_rows import rows_of_bands

BANDS = ("single", "joined", "beyond single", "beyond joined")


def results(positions):
    """{(training text, encoding): BLEU in each band}, of the systems with these positions."""
    found = {}
    for row in rows_of_bands(read("small-newstest/positions-bands-en-de")):
        if row["positions"] == positions:
            found.setdefault((row["text"], row["encoding"]), {})[row["band"]] = row["bleu"]
    return found


@pytest.fixture(scope="module")
def bleu():
    return results("index")


def test_which_encodings_gain_from_joined_training_sentences(bleu):
    both = sorted(name for text, name in bleu if text == "single" and ("joined", name) in bleu)
    loses = {band: [name for name in both if bleu["joined", name][band] < bleu["single", name][band]] for band in BANDS}
    others = ["cope", "fire", "forgetting", "kerple-log", "sandwich", "sandwich-smoothed"]
    assert len(both) == 19 and loses["single"] == both
    assert loses["joined"] == sorted([*others, "kerple-power", "sinusoidal"])
    assert loses["beyond single"] == loses["beyond joined"] == others


def test_fire_trained_on_single_sentences_beyond_all_training_lengths(bleu):
    joined = [found["beyond joined"] for (text, _), found in bleu.items() if text == "joined"]
    assert len(joined) == 21
    assert sum(found < bleu["single", "fire"]["beyond joined"] for found in joined) == 17


def test_the_best_after_joined_sentences(bleu):
    joined = {name: found for (text, name), found in bleu.items() if text == "joined"}
    best = {band: max(joined, key=lambda name, band=band: joined[name][band]) for band in BANDS}
    assert list(best.values()) == ["dynamic-bias", "deberta", "deberta", "shaw"]


def test_random_positions_help_no_relative_encoding_at_any_length(bleu):
    found = results("random:1024")
    assert {text for text, _ in found} == {"joined"}
    helped = {
        name: [band for band in BANDS if numbers[band] > bleu["joined", name][band]]
        for (_, name), numbers in found.items()
    }
    # sinusoidal learns nothing with `index`.
    assert helped == {"sinusoidal": list(BANDS[:3]), "shaw": [], "rope": [], "deberta": []}
