"""What the Markdown documents say: their links, their commands, and the tables that nobody else checks."""

import argparse
import importlib
import inspect
import re
import shlex

import pytest
from torch import nn

from tests.support.recipes import LENGTH, LM, ROOT, WMT14, commands, parse, run_script

DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def printed_commands(document):
    """The commands in the indented blocks of a document, as argument lists, without variables in front."""
    text = document.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^ {4}(\S.*)", text, re.MULTILINE):
        try:
            argv = shlex.split(line, comments=True)
        except ValueError:  # code of another language
            continue
        while argv and re.fullmatch(r"[A-Z_]+=.*", argv[0]):
            del argv[0]
        if argv and "..." not in argv:
            yield argv


def printed_training(document):
    """The one complete training command of a recipe's README."""
    (argv,) = [argv for argv in printed_commands(document) if argv[0] == "fairseq-train"]
    return argv


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 170


@documents
def test_lines_fit(document):
    lines = document.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def anchors(document):
    """The names under which the headings of a document can be linked to."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@documents
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", document.read_text(encoding="utf-8"))
    assert [target for target, _ in links if not (document.parent / target).exists()] == []
    wrong = [
        (target, heading)
        for target, heading in links
        if heading and heading not in anchors(document.parent / target if target else document)
    ]
    assert wrong == []


@documents
def test_commands_are_ones_that_their_parsers_take(document):
    from fairseq_posenc.cli import COMMANDS

    for argv in printed_commands(document):
        if argv[0] in ("fairseq-train", "fairseq-generate", "fairseq-eval-lm", "fairseq-preprocess"):
            assert parse(argv)
        elif argv[0] == "fairseq-posenc":
            parser = argparse.ArgumentParser()
            importlib.import_module(COMMANDS[argv[1]][0]).add_arguments(parser)
            assert parser.parse_args(argv[2:])
        elif argv[0].endswith(".sh"):
            assert (ROOT / argv[0]).is_file()


@pytest.mark.parametrize(
    ("recipe", "system"), [(WMT14, ("posnet-embed", "en-de", "base")), (LM, ("xpos", "gpt2_medium"))]
)
def test_the_training_command_is_that_of_the_recipe(recipe, system):
    run = run_script(recipe / "train.sh", *system, DRY_RUN=1, SCALE="paper")
    (argv,) = [argv for argv in commands(run.stdout) if argv[0] == "fairseq-train"]
    assert printed_training(recipe / "README.md") == [argument.replace(f"{ROOT}/", "") for argument in argv]


def test_the_training_command_is_that_of_the_length_recipe():
    chosen = ("encoder-decoder", "--tasks", "reverse", "--only", "rope")
    run = run_script(LENGTH / "reproduce.sh", *chosen, DRY_RUN=1, SEEDS=1)
    (argv,) = [argv for argv in commands(run.stdout) if argv[0] == "fairseq-train"]
    assert printed_training(LENGTH / "README.md") == [argument.replace(f"{ROOT}/", "") for argument in argv]


def test_the_training_command_is_that_of_the_quickstart():
    from examples.common.training import Training
    from examples.quickstart.run import checked, parse, plan

    trainings = [step for step in plan(checked(parse([])), threads=1) if isinstance(step, Training)]
    (argv,) = [step.argv() for step in trainings if step.folder.parent.name == "posnet-embed"]
    assert printed_training(ROOT / "examples/quickstart/README.md") == [str(argument) for argument in argv]


def table(document, heading):
    """The cells of the first table after a heading, without its first two lines."""
    text = (ROOT / document).read_text(encoding="utf-8").split(f"\n{heading}\n")[1]
    lines = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def test_parameters_of_encodings():
    from fairseq_posenc.encodings import Stack, encoding_class, encoding_names
    from fairseq_posenc.encodings.options import LAYER, MODEL

    def added(name, size, dim, heads):
        encoding = encoding_class(name)
        options = encoding.size_defaults.get(size, {})
        scope = encoding.scope({option.name: option.default for option in encoding.options().values()})
        counts = []
        for causal in (False, True):
            stack = Stack(dim, heads, causal=causal, first_row=2)
            layers = nn.ModuleList(encoding(stack, **options) for _ in range(6 if scope == LAYER else 1))
            for layer in layers[1:]:
                layer.share(layers[0])
            counts.append(sum(parameter.numel() for parameter in layers.parameters()))
        return counts[0] if scope == MODEL else sum(counts)

    rows = table("docs/encodings.md", "## Parameters")
    listed = {name: tuple(int(cell.replace(",", "")) for cell in cells) for name, *cells in rows}
    counts = {n: (added(n, "wmt_en_de", 512, 8), added(n, "wmt_en_de_big", 1024, 16)) for n in encoding_names()}
    assert listed == {name: numbers for name, numbers in counts.items() if any(numbers)}


def test_hooks():
    from fairseq_posenc.encodings.base import HOOKS, PositionEncoding

    def written(name):
        _, *arguments = inspect.signature(getattr(PositionEncoding, name)).parameters
        return f"{name}({', '.join(arguments)})"

    listed = {row[0] for row in table("docs/architecture.md", "## Hooks")}
    assert listed == {written(name) for name in (*HOOKS, "begin_pass")}
