"""Settings given as text, evaluated without running code, and overrides of a checkpoint's settings."""

import argparse
import ast
import difflib
import operator

#: The maximum length of a list made by a product such as ``[(512, 3)] * 20``.
LONGEST = 10_000

_OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


class SettingError(ValueError):
    """A setting that is not a literal; the message is one line with the cure."""

    one_line = True


class OverridesError(ValueError):
    """An invalid value of --model-overrides; the message is one line with the cure."""

    one_line = True


class Overrides(dict):
    """The dictionary of --model-overrides, which names settings of a checkpoint."""


def evaluate(text):
    """Evaluate numbers, strings, lists, tuples, sets, dictionaries, and sums and products of them, as ``eval`` does.

    Raises:
        SettingError: ``text`` is anything else; it is never run.
        TypeError: ``text`` is not a string, as for ``eval``.
    """
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"evaluate() needs a string, but got {text!r}")
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        raise SettingError(
            f"the setting {shortened(text)} is code, which is never run; give a number, a string or a list, or use "
            "another checkpoint"
        ) from None


def _value(node):
    if isinstance(node, ast.Constant):
        return node.value
    for kind, of_kind in ((ast.Tuple, tuple), (ast.List, list), (ast.Set, set)):
        if isinstance(node, kind):
            return of_kind(_value(element) for element in node.elts)
    if isinstance(node, ast.Dict):
        return {_value(key): _value(value) for key, value in zip(node.keys, node.values)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = _value(node.operand)
        return -number if isinstance(node.op, ast.USub) else +number
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Mult):
            for one, other in ((left, right), (right, left)):
                if hasattr(one, "__len__") and len(one) * other > LONGEST:
                    raise ValueError("too long")
        return _OPERATIONS[type(node.op)](left, right)
    raise ValueError("no literal")


def shortened(value, longest=80):
    """The repr of ``value``, shortened to ``longest`` characters."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def read_overrides(text):
    """The Overrides in the value of --model-overrides. Raises OverridesError unless it is a dictionary of settings."""
    try:
        overrides = evaluate(text)
    except (SettingError, TypeError):
        overrides = None
    if not isinstance(overrides, dict) or not all(isinstance(name, str) for name in overrides):
        raise OverridesError(
            f"--model-overrides {text} is not a dictionary of settings; give one such as \"{{'dropout': 0.1}}\""
        )
    return Overrides(overrides)


def check_overrides(cfg, overrides):
    """Raise OverridesError if the model of a checkpoint has no such setting, or a setting of another type.

    cfg: the checkpoint's configuration before ``overrides``.
    """
    for name, value in overrides.items():
        known = _settings(cfg)
        if name not in known and name not in flags(cfg, overrides):
            near = difflib.get_close_matches(name, [*known, *flags(cfg, overrides)], n=1)
            hint = f"did you mean {near[0]}?" if near else "correct the name, or leave it out"
            raise OverridesError(f"--model-overrides: the checkpoint and its model have no setting {name}; {hint}")
        before = [setting for setting in known.get(name, ()) if setting is not None]
        if before and not any(_alike(setting, value) for setting in before):
            raise OverridesError(
                f"--model-overrides: {name} is {shortened(before[0])} in the checkpoint, but {shortened(value)} is of "
                "another type"
            )


def _settings(cfg):
    """{name: values} of a configuration and of all its nested configurations."""
    from omegaconf import DictConfig

    settings, parts = {}, [cfg]
    while parts:
        part = parts.pop()
        items = vars(part).items() if isinstance(part, argparse.Namespace) else part.items_ex(resolve=False)
        for name, value in items:
            settings.setdefault(name, []).append(value)
            if isinstance(value, (DictConfig, argparse.Namespace)) and value:
                parts.append(value)
    return settings


def flags(cfg, overrides):
    """The names of all flags of the model, including those added after the checkpoint was written."""
    from fairseq.models import ARCH_MODEL_REGISTRY

    inner = overrides.get("model") if isinstance(overrides.get("model"), dict) else {}
    arch = overrides.get("arch") or inner.get("arch") or getattr(cfg.model, "arch", None) or cfg.model._name
    parser = argparse.ArgumentParser(add_help=False)
    if arch in ARCH_MODEL_REGISTRY:
        ARCH_MODEL_REGISTRY[arch].add_args(parser)
    return {action.dest for action in parser._actions} | {"arch", "_name"}


def _alike(before, value):
    """Whether ``value`` may replace ``before``: a string a string, and a number a number."""
    if value is None or isinstance(before, bool):
        return True
    if isinstance(before, (int, float)):
        return isinstance(value, (int, float))
    return isinstance(value, str) or not isinstance(before, str)
