"""``fairseq-posenc plot``: every kind is drawn, the TSV holds the result's numbers, bad input is one line."""

import copy
import json

import matplotlib.image
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fairseq_posenc.cli import main
from fairseq_posenc.plots.results import KINDS, read_results
from tests.support.language_model_records import LANGUAGE_MODELS

COST = {
    "kind": "cost",
    "forward": {
        "stock": {"seconds": 2.0, "quartiles": [1.9, 2.2]},
        "shaw": {"seconds": 3.5, "quartiles": [3.25, 4.0]},
    },
    "peak_memory_bytes": {"stock": 3 * 2**30, "shaw": 2**29},
}
GRAIN = {
    "kind": "grain",
    "baseline": "sinusoidal",
    "grains": {
        grain: [
            {"n": n, "scores": {"sinusoidal": 30 - n, "rope": 30.5 - n}, "gaps": {"rope": 0.5 * sign}}
            for n in range(1, 4)
        ]
        for grain, sign in (("character", 1), ("word", -1), ("bleu", 2))
    },
}
LENGTHS = {
    "kind": "lengths",
    "longest_trained": 12,
    "buckets": [
        {"from": 0, "to": 10, "longest": 9, "sentences": 4, "words": 30, "scores": {}},
        {"from": 11, "to": None, "longest": 31, "sentences": 1, "words": 31, "scores": {}},
    ],
}
for _bucket, _score in zip(LENGTHS["buckets"], (25.25, 12.5)):
    _bucket["scores"]["rope"] = {"bleu": _score, "chrf++": 2 * _score, "length_ratio": 0.98}
# The first bucket is that of an older result, which has no significance.
LENGTHS["buckets"][1]["significance"] = {"rope": {"p": 0.25, "mark": ""}}


def table(name, options, *bleus):
    return {"name": name, "options": options, "trainings": [{"bleu": bleu} for bleu in bleus]}


TABLE = {
    "kind": "table",
    "pairs": {
        "en-de": {
            "systems": [
                table("posnet-embed-128", "--posnet-dim 128 --posnet-max-positions 256", 27.5, 27.0),
                table("posnet-embed-16", "--posnet-dim=16", 26.25),
                table("sinusoidal", None, 20.0),
            ]
        },
        "en-fr": {"systems": [table("posnet-embed-16", "--posnet-dim 16", 40.5)]},
    },
}
NO_DIMS = {
    "kind": "table",
    "pairs": {
        "en-de": {
            "systems": [
                {"name": "none", "bleu": 20.0, "bleu_deviation": 0.5, "bleu_mark": "--", "chrf++": 40.0},
                {"name": "rope", "bleu": 30.0, "bleu_deviation": 0.25, "bleu_mark": "", "chrf++": 50.0},
            ]
        }
    },
}
SCORES = {
    "kind": "scores",
    "systems": [{"name": "a", "bleu": 20.0, "chrf++": 40.0}, {"name": "b", "bleu": 30.0, "chrf++": 50.0}],
    "signatures": {},
    "significance": {"marks": {"b": {"bleu": "++", "chrf++": ""}}},
}
QUICKSTART = {"kind": "quickstart", "systems": SCORES["systems"], "samples": [], "options": {}}


def pattern_time(pattern, length, seconds):
    return {
        "encoding": "none",
        "pattern": pattern,
        "length": length,
        "seconds": seconds,
        "attention_seconds": seconds / 2,
    }


PATTERN_COST = {
    "kind": "pattern-cost",
    "time": [pattern_time("full", 8, 1.0), pattern_time("full", 16, 4.0), pattern_time("window:4", 8, 0.5)],
    "memory": [{"encoding": "none", "pattern": "full", "length": 8, "bytes": 3 * 2**20}],
}


def command(rate, ratio, bound, **parts):
    return {
        "rate": rate,
        "quartiles": [rate - 1, rate + 1],
        "ratio_to_stock": ratio,
        "ratio_quartiles": [ratio, ratio + 0.5],
        "bound": bound,
        "profile": {"parts": parts},
    }


COMMAND_COST = {
    "kind": "command-cost",
    "commands": {
        "train": {
            "unit": "words",
            "systems": {
                "stock": command(100.0, 1.0, 250.0, attention=0.5, output=0.25),
                "rope": command(160.0, 1.5, 300.0, attention=0.25, output=0.5),
            },
        },
        "generate": {"unit": "sentences", "systems": {"stock": command(2.0, 1.0, 3.0, search=0.5, rest=1.0)}},
    },
}


def number(value, **more):
    return {"value": value, "deviation": None, "p": None, "mark": "", **more}


LENGTH_TABLE = {
    "kind": "length-table",
    "measure": "perplexity",
    "training_length": 8,
    "paper_training_length": 512,
    "texts": {
        "test": {
            "rows": [
                {"row": "ALiBi", "system": "alibi", "pattern": "full", "values": {"16": number(9.5), "8": number(9.0)}},
                {"row": "none", "system": "none", "pattern": "full", "values": {"8": number(None)}},
            ]
        }
    },
    "paper": {
        "PG22": [
            {
                "row": "ALiBi",
                "system": "alibi",
                "values": {"512": number("5.25", deviation=""), "1024": number("below 6")},
            }
        ]
    },
}


def band(task, name, band, exact, **more):
    measures = {f"{measure}{part}": None for measure in ("token", "token_oracle") for part in ("", "_deviation")}
    return {"task": task, "name": name, "band": band, "from": 1, "to": 8, "examples": 4, "seeds": 1, "exact": exact} | {
        "exact_deviation": None,
        "exact_oracle": exact,
        "exact_oracle_deviation": None,
        **measures,
        **more,
    }


LENGTH_TASKS = {
    "kind": "length-tasks",
    "tasks": [{"task": "copy", "trained": 8}, {"task": "first", "trained": 8}],
    "summary": [
        band("copy", "rope", "seen", 100.0),
        band("copy", "rope", "+25%", 75.0),
        band("copy", "rope", "unseen", 50.0, token=62.5),
        band("first", "rope", "unseen", 0.0),
        band("copy", "none", "unseen", 25.0),
    ],
    "curves": [
        {"task": "copy", "name": "rope", "length": [8, 9], "exact": [100.0, 25.0], "token": [100.0, 50.0]}
        | {"exact_oracle": [100.0, 50.0], "token_oracle": [100.0, 75.0]}
    ],
    "paper": [{"owner": "Somebody et al.", "task": "copy", "name": "rope", "exact": 12.5}],
}
CURVES_TSV = """kind\ttask\tname\ttrained\tlength\texact\ttoken\texact_oracle\ttoken_oracle
length-curves\tcopy\trope\t8\t8\t100.0\t100.0\t100.0\t100.0
length-curves\tcopy\trope\t8\t9\t25.0\t50.0\t50.0\t75.0
"""


def in_bands(name, positions, text, *bleus):
    """A system with a score in each band."""
    scores = [
        {"bleu": bleu, "chrf++": 2 * bleu, "length_ratio": 0.5, "bleu_mark": "--"}
        | {f"{measure}_deviation": None for measure in ("bleu", "chrf++", "length_ratio")}
        for bleu in bleus
    ]
    bands = dict(zip(("single", "beyond single"), scores))
    return {"name": f"{name}-{text}", "encoding": name, "positions": positions, "text": text, "bands": bands}


LENGTH_BANDS = {
    "kind": "length-bands",
    "pair": "en-de",
    "seeds": [1],
    "bands": [
        {"name": "single", "from": 0, "to": None, "sentences": 9},
        {"name": "beyond single", "from": 55, "to": 146, "sentences": 5},
    ],
    "systems": [
        in_bands("rope", "index", "single", 30.0, 10.0),
        in_bands("rope", "random:512", "joined", 15.0, 20.0),
        in_bands("none", "index", "single", 7.5, 0.0),
    ],
}
RECORDS = {
    "cost": COST,
    "grain": GRAIN,
    "lengths": LENGTHS,
    "kernel-dim": TABLE,
    "table": NO_DIMS,
    "scores": SCORES,
    "quickstart": QUICKSTART,
    "pattern-cost": PATTERN_COST,
    "command-cost": COMMAND_COST,
    "length-table": LENGTH_TABLE,
    "length-tasks": LENGTH_TASKS,
    "length-bands": LENGTH_BANDS,
    **LANGUAGE_MODELS,
}
TABLE_TSV = "pair\tkernel_dim\tbleu\nen-de\t128\t27.5\nen-de\t128\t27.0\nen-de\t16\t26.25\nen-fr\t16\t40.5\n"

# An encoding with two heads in the encoder; in the decoder they are equal.
ENCODING_TSV = """encoding\tside\tweights\tmeasure\thead\tdistance\tvalue
t5\tencoder\tinitial\tbias\t1\t-1\t0.5
t5\tencoder\tinitial\tbias\t1\t0\t0.25
t5\tencoder\tinitial\tbias\t2\t-1\t-0.5
t5\tencoder\tinitial\tbias\t2\t0\t0.0
t5\tdecoder\tinitial\tbias\t\t0\t1.5
t5\tdecoder\tinitial\tbias\t\t1\t1.0
"""
FILES = {**{kind: f"{kind}.json" for kind in RECORDS}, "encoding": "encoding.tsv", "length-curves": "curves.tsv"}

# The numbers that the files of figures must hold, as text and in order.
COST_TSV = """kind\tresult\tmeasure\tsystem\tvalue\tlow\thigh\tunit
cost\tcost\tforward\tstock\t2.0\t1.9\t2.2\ts
cost\tcost\tforward\tshaw\t3.5\t3.25\t4.0\ts
cost\tcost\tmemory\tstock\t3.0\t\t\tGiB
cost\tcost\tmemory\tshaw\t0.5\t\t\tGiB
"""
LENGTHS_COLUMNS = (
    *("kind", "result", "from", "to", "sentences", "mean_words", "longest_trained", "system"),
    *("bleu", "chrf++", "length_ratio", "bleu_p", "bleu_mark"),
)
LENGTHS_TSV = """{}
lengths\tlengths\t0\t10\t4\t7.5\t12\trope\t25.25\t50.5\t0.98\t\t
lengths\tlengths\t11\t31\t1\t31.0\t12\trope\t12.5\t25.0\t0.98\t0.25\t
""".format("\t".join(LENGTHS_COLUMNS))
GRAIN_LINES = [
    "grain\tgrain\tcharacter\t1\tsinusoidal\trope\t29.5\t0.5",
    "grain\tgrain\tbleu\t3\tsinusoidal\trope\t27.5\t1.0",
]


ENCODING = "encoding\tside\tmeasure\tdistance\tvalue\nalibi\t{}\t{}\t0\t1\n"


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder, now the current one, with a result of every kind."""
    monkeypatch.chdir(tmp_path)
    for kind, record in RECORDS.items():
        (tmp_path / f"{kind}.json").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "dims.tsv").write_text(TABLE_TSV)
    (tmp_path / "encoding.tsv").write_text(ENCODING_TSV)
    (tmp_path / "curves.tsv").write_text(CURVES_TSV)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn(results, kind, capsys):
    before = set(results.iterdir())
    assert main(["plot", FILES[kind], "--output", "figure"]) == 0
    written = ["figure.tsv", "figure.png", "figure.pdf"]
    assert capsys.readouterr().out.split() == written
    assert {path.name for path in set(results.iterdir()) - before} == set(written)
    image = matplotlib.image.imread("figure.png")
    assert image.shape[0] > 200 and image.shape[1] > 400 and image[..., :3].std() > 0.05
    assert (results / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_the_tsv_holds_the_numbers_of_the_result(results):
    for kind in RECORDS:
        assert main(["plot", FILES[kind], "--output", f"figure-{kind}"]) == 0
    assert (results / "figure-cost.tsv").read_text() == COST_TSV
    assert (results / "figure-lengths.tsv").read_text() == LENGTHS_TSV
    lines = TABLE_TSV.split("\n")
    with_name = [f"kernel-dim\tkernel-dim\t{line}" for line in lines[1:-1]]
    assert (results / "figure-kernel-dim.tsv").read_text().split("\n") == [f"kind\tresult\t{lines[0]}", *with_name, ""]
    grain = (results / "figure-grain.tsv").read_text().split("\n")
    assert [grain[1], grain[9]] == GRAIN_LINES and len(grain) == 11


@pytest.mark.parametrize("kind", KINDS)
def test_the_tsv_draws_the_same_figure_again(results, kind):
    main(["plot", FILES[kind], "--output", "first"])
    assert main(["plot", "first.tsv", "--output", "second"]) == 0
    for form in ("tsv", "png", "pdf"):
        assert (results / f"first.{form}").read_bytes() == (results / f"second.{form}").read_bytes()


def draw(kind, **options):
    return KINDS[kind].draw(read_results([FILES[kind]], **options)[1])


def test_bars_are_the_medians_and_whiskers_the_quartiles(results):
    forward, memory = draw("cost").axes
    assert [bar.get_width() for bar in forward.patches] == [2.0, 3.5]
    assert [bar.get_width() for bar in memory.patches] == [3.0, 0.5]
    whiskers = [segment[:, 0].tolist() for lines in forward.collections for segment in lines.get_segments()]
    assert whiskers == [[1.9, 2.2], [3.25, 4.0]] and not memory.collections
    assert [tick.get_text() for tick in forward.get_yticklabels()] == ["stock", "shaw"]
    assert "(s)" in forward.get_xlabel() and "(GiB)" in memory.get_xlabel()
    assert forward.yaxis_inverted()  # the first system at the top


def test_speeds_of_commands_stand_over_the_parts_of_their_time(results):
    speed, other_speed, time, other_time = draw("command-cost").axes
    assert [bar.get_width() for bar in speed.patches] == [1.0, 1.5]
    whiskers = [segment[:, 0].tolist() for lines in speed.collections for segment in lines.get_segments()]
    assert whiskers == [[1.0, 1.5], [1.5, 2.0]]
    (bound,) = [line for line in speed.lines if line.get_label() == "matrix products alone"]
    assert bound.get_xdata().tolist() == [2.5, 3.0] and bound.get_ydata().tolist() == [0, 1]
    assert [text.get_text() for text in speed.texts] == ["100", "160"] and "words/s" in speed.get_xlabel()
    assert [(bar.get_x(), bar.get_width()) for bar in time.patches] == [(0, 0.5), (0.5, 0.25), (0, 0.25), (0.25, 0.5)]
    assert "generate" in other_speed.get_xlabel() and len(other_time.patches) == 2


def test_lines_go_through_the_numbers(results):
    character, word, bleu = draw("grain").axes
    for panel, gap in ((character, 0.5), (word, -0.5), (bleu, 1.0)):
        line = next(line for line in panel.lines if line.get_label() == "rope")
        assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([1, 2, 3], [gap] * 3)
    assert bleu.get_ylabel() == "BLEU gap to sinusoidal"
    scores, counts = draw("lengths").axes
    line = next(line for line in scores.lines if line.get_label() == "rope")
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([7.5, 31.0], [25.25, 12.5])
    assert [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in counts.patches] == [(0.5, 10, 4), (10.5, 21, 1)]


def test_heads_have_a_line_each_unless_they_are_equal(results):
    encoder, decoder = draw("encoding").axes
    assert encoder.get_title(loc="left") == "t5, encoder (untrained)"
    lines = [(line.get_label(), line.get_xdata().tolist(), line.get_ydata().tolist()) for line in encoder.lines]
    assert lines == [("head 1", [-1, 0], [0.5, 0.25]), ("head 2", [-1, 0], [-0.5, 0.0])]
    (line,) = decoder.lines
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([0, 1], [1.5, 1.0])
    assert not line.get_label().startswith("head")


def test_several_trainings_of_a_kernel_dimension_are_averaged(results):
    german, french = draw("kernel-dim").axes
    assert german.lines[0].get_xdata().tolist() == [16, 128] and german.lines[0].get_ydata().tolist() == [26.25, 27.25]
    assert french.lines[0].get_ydata().tolist() == [40.5]
    (whiskers,) = german.collections
    assert [segment[:, 1].tolist() for segment in whiskers.get_segments()] == [[26.25, 26.25], [27.0, 27.5]]


def test_scores_have_a_panel_per_metric_with_deviations_and_marks(results):
    bleu, chrf = draw("table").axes
    assert [bar.get_width() for bar in bleu.patches] == [20.0, 30.0] and bleu.get_xlabel() == "BLEU, en-de"
    whiskers = [segment[:, 0].tolist() for lines in bleu.collections for segment in lines.get_segments()]
    assert whiskers == [[19.5, 20.5], [29.75, 30.25]] and not chrf.collections
    assert [text.get_text() for text in bleu.texts] == ["20.0 --", "30.0"]
    assert [text.get_text() for text in draw("scores").axes[0].texts] == ["20.0", "30.0 ++"]


def test_lengths_of_a_table_have_a_panel_per_text_and_the_papers_beside(results):
    ours, theirs = draw("length-table").axes
    assert (ours.get_title(), theirs.get_title()) == ("test", "the paper's, PG22")
    for panel, points in ((ours, [[8, 9.0], [16, 9.5]]), (theirs, [[512, 5.25]])):
        (line,) = (container.lines[0] for container in panel.containers if container.get_label() == "alibi")
        assert line.get_xydata().tolist() == points


def test_heat_maps_have_a_panel_per_band_and_the_papers_last(results):
    figure = draw("length-tasks")
    maps = [panel for panel in figure.axes if panel.get_title()]
    assert [panel.get_title() for panel in maps] == ["seen", "unseen", "unseen, Somebody et al."]
    seen, unseen, theirs = maps
    # All maps have the same lines and columns.
    assert [label.get_text() for label in seen.get_xticklabels()] == ["copy", "first"]
    assert [label.get_text() for label in seen.get_yticklabels()] == ["rope", "none"]
    assert {panel.get_images()[0].get_array().shape for panel in maps} == {(2, 2)}
    (image,) = unseen.get_images()
    values = image.get_array()
    assert values[0].tolist() == [50.0, 0.0] and values[1].tolist()[0] == 25.0 and values.mask.sum() == 1
    assert [text.get_text() for text in unseen.texts] == ["50", "0", "25"]
    assert [text.get_text() for text in theirs.texts] == ["12"]


def test_heat_maps_of_lengths_have_a_panel_per_band_and_a_column_for_positions_and_text(results):
    maps = [panel for panel in draw("length-bands").axes if panel.get_title()]
    assert [panel.get_title() for panel in maps] == ["one sentence", "joined, 55-146"]
    single, beyond = maps
    assert [label.get_text() for label in single.get_xticklabels()] == ["index, single", "random, joined"]
    assert [label.get_text() for label in single.get_yticklabels()] == ["rope", "none"]
    assert [text.get_text() for text in single.texts] == ["30.0", "15.0", "7.5"]
    assert [text.get_text() for text in beyond.texts] == ["10.0", "20.0", "0.0"]
    (image,) = beyond.get_images()
    values = image.get_array()
    assert values[0].tolist() == [50.0, 100.0] and values[1].tolist()[0] == 0.0 and values.mask.sum() == 1


def test_curves_by_length_have_exact_match_above_and_tokens_below(results):
    above, below = draw("length-curves").axes
    for panel, values in ((above, [100.0, 25.0]), (below, [100.0, 75.0])):
        line, trained = panel.get_lines()
        assert line.get_xdata().tolist() == [8, 9] and line.get_ydata().tolist() == values
        assert set(trained.get_xdata()) == {8}
    assert above.get_title() == "copy"


def test_patterns_have_a_panel_per_measure(results):
    model, attention, memory = draw("pattern-cost").axes
    assert [line.get_xydata().tolist() for line in model.lines] == [[[8, 1], [16, 4]], [[8, 0.5]]]
    assert attention.lines[0].get_ydata().tolist() == [0.5, 2.0] and memory.lines[0].get_ydata().tolist() == [3.0]
    assert [line.get_label() for line in model.lines] == ["none full", "none window:4"]
    # Names may hold dollar signs, so that formulas would be shown as they are written.
    FigureCanvasAgg(model.figure).draw()
    assert not any("$" in tick.get_text() for panel in (model, memory) for tick in panel.get_yticklabels())


def test_older_files_without_a_kind_are_told_by_their_fields(results):
    """Results of score and of the quickstart named no kind; TSV files had no column of that name."""
    for kind in ("scores", "quickstart"):
        record = {key: value for key, value in RECORDS[kind].items() if key != "kind"}
        (results / "old.json").write_text(json.dumps(record))
        assert read_results(["old.json"])[0] == kind
    for kind in ("grain", "lengths", "extrapolation", "receptive-field", "by-position", "resolution"):
        main(["plot", FILES[kind], "--output", "new"])
        lines = (results / "new.tsv").read_text().split("\n")
        (results / "old.tsv").write_text("\n".join(line.partition("\t")[2] for line in lines))
        assert read_results(["old.tsv"]) == read_results(["new.tsv"])


def test_help_names_every_kind(capsys):
    with pytest.raises(SystemExit):
        main(["plot", "--help"])
    named = set(capsys.readouterr().out.replace(",", " ").split())
    assert set(KINDS) <= named


def test_the_papers_figures_have_panels_of_their_own(results):
    paper = "measure\tsystem\tvalue\tunit\nmemory\tnone\t6.3\tGB\nmemory\tshaw\t6.8\tGB\n"
    (results / "paper.tsv").write_text(paper)
    assert main(["plot", "cost.json", "--paper", "paper.tsv", "--output", "figure"]) == 0
    assert (results / "figure.tsv").read_text().split("\n")[5:] == [
        "cost\tthe paper's\tmemory\tnone\t6.3\t\t\tGB",
        "cost\tthe paper's\tmemory\tshaw\t6.8\t\t\tGB",
        "",
    ]
    figure = draw("cost", paper_path="paper.tsv")
    ours, theirs = (
        next(panel for panel in figure.axes if panel.get_title(loc="left") == title)
        for title in ("cost", "the paper's")
    )
    assert [bar.get_width() for bar in ours.patches] == [2.0, 3.5]
    assert [bar.get_width() for bar in theirs.patches] == [6.3, 6.8]


def test_only_some_systems_are_drawn(results):
    shaw_tsv = "".join(line for line in COST_TSV.splitlines(keepends=True) if "stock" not in line)
    assert main(["plot", "cost.json", "--only", "shaw", "--output", "figure"]) == 0
    assert (results / "figure.tsv").read_text() == shaw_tsv
    # A paper's result without any of them has no panel.
    (results / "paper.tsv").write_text("measure\tsystem\tvalue\tunit\nmemory\tnone\t6.3\tGB\n")
    assert main(["plot", "cost.json", "--paper", "paper.tsv", "--only", "shaw", "--output", "figure"]) == 0
    assert (results / "figure.tsv").read_text() == shaw_tsv
    for kind, column, name in (("table", 3, "rope"), ("length-table", 4, "ALiBi"), ("length-bands", 4, "none")):
        assert main(["plot", FILES[kind], "--only", name, "--output", "figure"]) == 0
        lines = (results / "figure.tsv").read_text().split("\n")[1:-1]
        assert lines and {line.split("\t")[column] for line in lines} == {name}


@pytest.mark.parametrize(
    ("kind", "names", "message"),
    [
        (
            "cost",
            "shaw,stok",
            "--only stok is not one of the results' systems (did you mean stock?); they are stock, shaw",
        ),
        ("length-bands", "alibi", "--only alibi is not one of the results' systems; they are rope, none"),
        ("kernel-dim", "posnet-embed", "--only posnet-embed: kernel-dim has no systems to choose from"),
    ],
)
def test_systems_that_cannot_be_drawn_end_in_one_line(results, capsys, kind, names, message):
    assert main(["plot", FILES[kind], "--only", names, "--output", "figure"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error and not (results / "figure.tsv").exists()


@pytest.mark.parametrize("kind", ["grain", "lengths", "encoding"])
def test_the_legend_covers_nothing(results, kind):
    figure = draw(kind)
    FigureCanvasAgg(figure).draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert [text.get_text() for text in legend.get_texts()] == (
        ["head 1", "head 2"] if kind == "encoding" else ["rope"]
    )
    assert not any(box.overlaps(panel.get_tightbbox()) for panel in figure.axes)


def test_results_are_told_apart(results):
    (results / "other").mkdir()
    record = copy.deepcopy(COST)
    record["forward"]["stock"]["seconds"] = 9.0
    (results / "other" / "cost.json").write_text(json.dumps(record))
    _, found = read_results(["cost.json", "other/cost.json"])
    assert list(found) == ["cost", "cost (other/cost.json)"]
    assert [rows[0]["value"] for rows in found.values()] == [2.0, 9.0]


UNKNOWN = {**COST, "kind": "tables"}
NEWER = {**COST, "schema": 99}
NO_KIND = {key: value for key, value in COST.items() if key != "kind"}
INCOMPLETE = {**GRAIN, "grains": {"bleu": [{"n": 1}]}}
WORDS = {**COST, "forward": {"stock": {"seconds": "two", "quartiles": [1, 2]}}}
UNEQUAL = copy.deepcopy(LANGUAGE_MODELS["by-position"])
UNEQUAL["cells"][0]["positions"]["loss"].pop()
EMPTY_BUCKET = {**LENGTHS, "buckets": [{**LENGTHS["buckets"][0], "sentences": 0}]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "bad.json",
            json.dumps(UNKNOWN),
            "bad.json holds 'tables', which is no kind that can be drawn; known kinds: cost",
        ),
        ("bad.json", json.dumps(NO_KIND), "bad.json names no kind of result"),
        ("bad.json", "[1]", "bad.json names no kind of result"),
        ("bad.json", '{"kind": ["cost"]}', "is no kind that can be drawn"),
        ("bad.json", '{"kind": "cost"}', "bad.json contains no numbers to draw"),
        ("bad.json", "{", "bad.json is not JSON"),
        ("bad.json", b"\xff\xfe", "bad.json is not JSON"),
        ("bad.json", json.dumps(INCOMPLETE), "bad.json is not a complete grain result (KeyError"),
        ("bad.json", json.dumps(NEWER), "bad.json has schema 99 of cost, but this version reads up to 1; update"),
        ("bad.tsv", "kind\ta\nx\t1\n", "bad.tsv holds 'x', which is no kind that can be drawn; known kinds: cost"),
        ("bad.tsv", "kind\ta\ncost\t1\n", "which match no kind; required: cost: measure, system, value, unit"),
        (
            "bad.tsv",
            "kind\ta\ncost\t1\ngrain\t1\n",
            "bad.tsv has rows of several kinds (cost, grain); give a file of one",
        ),
        ("bad.json", json.dumps(GRAIN), "cost.json holds cost but bad.json grain"),
        ("bad.tsv", "a\tb\n1\t2\n", "bad.tsv has the columns a, b, which match no kind; required: cost: measure"),
        ("bad.tsv", "pair\tkernel_dim\tbleu\n", "bad.tsv has a header but no rows"),
        ("bad.tsv", "pair\tkernel_dim\tbleu\nen-de\t16\n", "bad.tsv: line 2 has 2 cells but the header has 3"),
        ("bad.tsv", "pair\tkernel_dim\tbleu\nen-de\tbig\t3\n", "'big'; give numbers"),
        ("bad.tsv", "pair\tkernel_dim\tbleu\nen-de\t16\t\n", "bad.tsv has an empty cell in its column bleu"),
        ("bad.tsv", "", "bad.tsv is empty"),
        ("bad.tsv", "\n\n", "bad.tsv has only empty lines"),
        ("bad.tsv", "pair\tkernel_dim\tbleu\nen-de\t16\tinf\n", "bad.tsv: bleu inf is too large to be drawn"),
        ("bad.tsv", f"pair\tkernel_dim\tbleu\nen-de\t1{'0' * 150}\t3\n", "0000 is too large to be drawn"),
        ("bad.tsv", ENCODING.format("middle", "bias"), "bad.tsv: side must be one of encoder, decoder, but is middle"),
        ("bad.tsv", ENCODING.format("encoder", "x"), "bad.tsv: measure must be one of bias, score, mixed value"),
        ("bad.tsv", "pair\tkernel_dim\tbleu\nen-de\t16\tnan\n", "bleu nan is no number that can be drawn"),
        ("bad.json", json.dumps(WORDS), "bad.json: value must be a number, but is 'two'; correct the result"),
        ("bad.json", json.dumps(UNEQUAL), "bad.json is not a complete by-position result (IndexError"),
        ("bad.json", json.dumps(EMPTY_BUCKET), "bad.json is not a complete lengths result (ZeroDivisionError"),
        ("bad.json", "[" * 100_000, "bad.json is not JSON"),
    ],
)
def test_bad_results_end_in_one_line(results, capsys, name, content, message):
    (results / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = set(results.iterdir())
    assert main(["plot", "cost.json", name, "--output", "figure"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error
    assert set(results.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cost.json", "--output", "no/such/stem"], "the folder"),
        (["dims.tsv", "--output", "dims"], "would overwrite the input dims.tsv"),
        (
            ["cost.json", "--paper", "dims.tsv", "--output", "x"],
            "cost.json holds cost but dims.tsv kernel-dim",
        ),
        (["cost.json", "cost.json", "--output", "x"], "cost.json is given twice"),
        (["cost.json", "--output", "x" * 250], "the name is longer than the 255 bytes of a file name"),
        (["missing.json", "--output", "x"], "cannot read missing.json"),
        (["cost.json", "--output", "folder"], "folder.png is not a regular file"),
    ],
)
def test_mistakes_end_in_one_line(results, capsys, words, message):
    (results / "folder.png").mkdir()
    assert main(["plot", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error
    assert (results / "dims.tsv").read_text() == TABLE_TSV and not list(results.glob("x.*"))


def test_a_name_with_dollar_signs(results):
    """matplotlib would read it as a formula."""
    (results / "names.tsv").write_text(ENCODING.format("encoder", "bias").replace("alibi", "$x_{$"))
    assert main(["plot", "names.tsv", "--output", "names2"]) == 0
    assert (results / "names2.png").stat().st_size > 1000


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_no_formulas(results, kind):
    """The style draws dollar signs as they are."""
    for panel in draw(kind).axes:
        assert "$" not in panel.get_xlabel() + panel.get_ylabel() + panel.get_title()
