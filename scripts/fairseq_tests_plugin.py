"""Runs fairseq's own tests with the models of this package instead of stock models; see scripts/fairseq_tests.sh.

As a pytest plugin (``-p fairseq_tests_plugin --system NAME --results FILE``) it replaces fairseq's Transformer by our
models with the encoding NAME, and appends one line per test to FILE. As a program
(``fairseq_tests_plugin.py FILE DOCUMENT``) it prints the table and every failure, and exits with status 1 if there is a
failure that DOCUMENT does not list.
"""

import argparse
import inspect
import re
import sys
import unittest
from pathlib import Path

SECTION = "## fairseq's own tests"

#: Values of --arch in the tests that our models can replace.
ARCHITECTURES = ("transformer_iwslt_de_en", "transformer", "transformer_align", "transformer_lm")
PLACES = [f'"{name}"' for name in ARCHITECTURES] + ["TransformerModel."]


def pytest_addoption(parser):
    parser.addoption("--system", default="stock", help="stock, or the name of an encoding")
    parser.addoption("--results", required=True, help="file to which one line per test is appended")


def pytest_configure(config):
    # fairseq's tests after 0.12.2 skip these tests; run them anyway.
    skip = unittest.skip
    unittest.skip = lambda why: (lambda test: test) if str(why).startswith("Disabled as currently") else skip(why)
    config.stock_transformer = None
    if config.getoption("system") != "stock":
        config.stock_transformer = put_ours(config.getoption("system").replace("_", "-"))


def put_ours(encoding):
    """Replace fairseq's models by ours with ``encoding``; return fairseq's original class."""
    import fairseq.models as registries
    import pytest
    from fairseq.models import transformer
    from fairseq.utils import import_user_module

    import_user_module(argparse.Namespace(user_dir="fairseq_posenc"))
    from fairseq_posenc.models.transformer import PositionEncodingTransformer

    for name in ARCHITECTURES:
        model = "transformer_lm_posenc" if name == "transformer_lm" else "transformer_posenc"
        # Base models have eight heads, with one dimension each in these tests, too few for rotations.
        ours = model if name == "transformer_lm" else f"transformer_{encoding.replace('-', '_')}_iwslt_de_en"
        if ours not in registries.ARCH_CONFIG_REGISTRY:
            raise pytest.UsageError(f"--system {encoding} is not an encoding; fairseq-posenc list shows them all")
        registries.MODEL_REGISTRY[name] = registries.MODEL_REGISTRY[model]
        registries.MODEL_DATACLASS_REGISTRY.pop(name, None)
        registries.ARCH_MODEL_REGISTRY[name] = registries.ARCH_MODEL_REGISTRY[ours]
        registries.ARCH_MODEL_NAME_REGISTRY[name] = model
        registries.ARCH_CONFIG_REGISTRY[name] = choosing(encoding, registries.ARCH_CONFIG_REGISTRY[ours])

    class TransformerModel:
        add_args = staticmethod(PositionEncodingTransformer.add_args)
        build_model = staticmethod(choosing(encoding, PositionEncodingTransformer.build_model))

    stock, transformer.TransformerModel = transformer.TransformerModel, TransformerModel
    return stock


def choosing(encoding, function):
    """``function(args, ...)`` with ``encoding`` chosen in ``args``."""

    def chosen(args, *others):
        args.position_encoding = encoding
        return function(args, *others)

    return chosen


def pytest_collection_modifyitems(config, items):
    if config.getoption("system") == "stock":
        return
    others = [item for item in items if not asks_for_a_transformer(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


def asks_for_a_transformer(item):
    source = inspect.getsource(item.obj) + inspect.getsource(item.cls.setUp)
    return any(place in source for place in PLACES)


def pytest_collection_finish(session):
    # Examples that the tests load later derive their own models from fairseq's class.
    if session.config.stock_transformer is not None:
        from fairseq.models import transformer

        transformer.TransformerModel = session.config.stock_transformer


class Results:
    """Writes system, test, outcome and error of every test to a file."""

    def __init__(self, config):
        self.system, self.file = config.getoption("system").replace("-", "_"), config.getoption("results")

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return
        crash = getattr(report.longrepr, "reprcrash", None) if report.failed else None
        why = re.sub(r"\s+", " ", crash.message)[:200] if crash else str(report.longrepr or "")[-300:].strip()
        line = "\t".join([self.system, report.nodeid.removeprefix("tests/"), report.outcome, why.replace("\n", " ")])
        with open(self.file, "a") as file:
            file.write(line + "\n")


def pytest_sessionstart(session):
    session.config.pluginmanager.register(Results(session.config))


def known_failures(document):
    """{test: names of the systems with which it fails according to the table in ``document``}."""
    section = Path(document).read_text().split(SECTION + "\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\S+)` \| ([^|]+) \| [^|]+ \|$", section, flags=re.MULTILINE)
    return {test: systems.replace("`", "").split(", ") for test, systems in rows}


def summary(results, document):
    """Print the table and every failure; return how many failures ``document`` does not list."""
    lines = [line.split("\t") for line in Path(results).read_text().splitlines()]
    known, unknown = known_failures(document), 0
    print(f"{'system':16}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for system in dict.fromkeys(line[0] for line in lines):
        outcomes = [outcome for name, _, outcome, _ in lines if name == system]
        print(f"{system:16}" + "".join(f"{outcomes.count(kind):8}" for kind in ("passed", "failed", "skipped")))
    for system, test, outcome, why in lines:
        listed = {system, "all", "stock" if system == "stock" else "ours"} & set(known.get(test, ()))
        if outcome == "failed":
            unknown += not listed
            print(f"{'listed' if listed else 'NOT LISTED'}: {system}: {test}: {why}")
        elif outcome == "passed" and listed:
            print(f"listed, but passes: {system}: {test}")
    return unknown


if __name__ == "__main__":
    sys.exit(min(summary(*sys.argv[1:]), 1))
