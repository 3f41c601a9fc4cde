"""Check the installation: versions, the start-up hook, the active patches, fairseq's compiled parts and the plugin.

Names each missing part and how to fix it. Exit status: 1 if a required part is missing, else 0.
"""

import importlib
import json
import logging
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

SETUP = "run scripts/setup.sh"
NEEDED = {
    "torch": SETUP,
    "numpy": "pip install numpy",
    "fairseq": f"{SETUP} (or: pip install --no-deps fairseq==0.12.2)",
    "hydra-core": "pip install 'hydra-core>=1.3,<1.4'",
    "omegaconf": "pip install 'omegaconf>=2.3,<2.4'",
    "bitarray": "pip install bitarray",
    "regex": "pip install regex",
    "tqdm": "pip install tqdm",
    "sacrebleu": "pip install 'sacrebleu>=2'",
    "sacremoses": "pip install sacremoses",
    "subword-nmt": "pip install subword-nmt",
    "sentencepiece": "pip install sentencepiece",
}
OPTIONAL = {
    "matplotlib": "for plots: pip install 'fairseq-posenc[plots]'",
    "ctranslate2": "for export --to ctranslate2: pip install 'fairseq-posenc[ctranslate2]'",
    "transformers": "for export --to huggingface: pip install 'fairseq-posenc[huggingface]'",
    "scipy": "for the t-tests of extrapolate: pip install 'fairseq-posenc[analysis]'",
    "pytest": "for the tests: pip install 'fairseq-posenc[test]'",
}
COMPILED = ("fairseq.data.data_utils_fast", "fairseq.data.token_block_utils_fast", "fairseq.libbleu")
# The source release of fairseq 0.12.2 contains the source of neither.
OPTIONAL_COMPILED = {
    "fairseq.libnat": "for insertion and Levenshtein Transformers: python scripts/build_extensions.py",
    "fairseq.libbase": (
        "for BASE layers; no release of fairseq contains its source: git clone --branch v0.12.2 "
        "https://github.com/facebookresearch/fairseq CHECKOUT && python scripts/build_extensions.py CHECKOUT"
    ),
}
COMMANDS = ("train", "generate", "interactive", "eval_lm", "validate", "preprocess", "score", "hydra_train")
REBUILD = "install a C++ compiler, then: pip install --no-deps --force-reinstall fairseq==0.12.2"

# Run in a separate process, as in a user's command.
LOAD_PLUGIN = "import argparse, fairseq.utils as u; u.import_user_module(argparse.Namespace(user_dir='fairseq_posenc'))"


def add_arguments(parser):
    """Add the options of ``fairseq-posenc doctor``."""
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--quiet", action="store_true", help="print only what is missing")


def run(args):
    """Print the findings; return 1 if a required part is missing."""
    logging.disable(logging.WARNING)  # fairseq logs while it is imported
    findings = examine()
    if args.json:
        print(json.dumps(findings, indent=2))
    else:
        for line in describe(findings, args.quiet):
            print(line)
    return 1 if findings["missing"] else 0


def examine():
    """Return all findings as a dictionary; ``missing`` lists required parts that are absent, each with its cure."""
    versions = {"python": platform.python_version()}
    missing = []
    for name, cure in NEEDED.items():
        versions[name] = installed_version(name)
        if versions[name] is None:
            missing.append({"what": name, "why": "not installed", "cure": cure})
    versions.update((name, installed_version(name)) for name in OPTIONAL)
    hook = hook_is_active(missing)
    errors = {name: import_error(name) for name in ("torch", "fairseq", *COMPILED)}
    for name, error in errors.items():
        if error is None or (name in COMPILED and errors["fairseq"] is not None):
            continue  # it fails only because fairseq cannot be imported, which is reported already
        if name in COMPILED:
            missing.append({"what": name, "why": error, "cure": REBUILD})
        elif versions[name] is not None:
            missing.append({"what": name, "why": error, "cure": SETUP if hook else "see the start-up hook"})
    optional = {name: import_error(name) is None for name in OPTIONAL_COMPILED}
    patches = patch_states()
    missing += [
        {"what": f"patch {patch['name']}", "why": patch["state"], "cure": f"report it; without it: {patch['fault']}"}
        for patch in patches
        if patch["state"].startswith("failed")
    ]
    plugin = plugin_error() if errors["fairseq"] is None else "fairseq cannot be imported"
    if plugin is not None and errors["fairseq"] is None:
        missing.append({"what": "--user-dir fairseq_posenc", "why": plugin, "cure": f"{SETUP}, or report the error"})
    return {
        "versions": versions,
        "cuda": cuda() if errors["torch"] is None else None,
        "hook_active": hook,
        "patches": patches,
        "compiled": {name: errors[name] is None for name in COMPILED},
        "optional_compiled": optional,
        "plugin_loads": plugin is None,
        "missing": missing,
    }


def installed_version(name):
    """Return the version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def hook_is_active(missing):
    """Tell whether the start-up hook is active; if not, add it to ``missing``."""
    from fairseq_compat import boot

    if not boot.enabled():
        missing.append({"what": "start-up hook", "why": "FAIRSEQ_COMPAT=0", "cure": "unset FAIRSEQ_COMPAT"})
    elif not boot.active():
        cure = "pip install . (or -e .) in the repository, in the same environment; see Installation in README.md"
        missing.append({"what": "start-up hook", "why": "its .pth file was not read at start-up", "cure": cure})
    return boot.active()


def import_error(name):
    """Import a module; return the error in one line, or None."""
    try:
        importlib.import_module(name)
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())
    return None


def patch_states():
    """Return the patches with their states, after importing the commands whose modules they patch."""
    import fairseq_compat

    for command in COMMANDS:
        import_error(f"fairseq_cli.{command}")
    return fairseq_compat.report()


def plugin_error():
    """Load the plugin as fairseq does; return the last line of the error, or None."""
    result = subprocess.run([sys.executable, "-c", LOAD_PLUGIN], capture_output=True, text=True)
    if result.returncode == 0:
        return None
    return (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]


def cuda():
    """Return PyTorch's CUDA version and the devices it sees, or None for a CPU build."""
    import torch

    if torch.version.cuda is None:
        return None
    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return {"version": torch.version.cuda, "devices": devices}


def describe(findings, quiet=False):
    """Yield the lines of the report."""
    if not quiet:
        yield "Versions"
        for name, installed in findings["versions"].items():
            yield f"  {name:<16}{installed or 'not installed' + (f' ({OPTIONAL[name]})' if name in OPTIONAL else '')}"
        gpu = findings["cuda"]
        yield f"  {'cuda':<16}{gpu['version'] + ' ' + (', '.join(gpu['devices']) or 'no device') if gpu else 'none'}"
        yield f"Start-up hook     {'active' if findings['hook_active'] else 'NOT active'}"
        yield "Patches"
        for patch in findings["patches"]:
            yield f"  {patch['name']:<28}{patch['state']:<12} since {patch['since']}"
            yield f"  {'':<28}fixes {patch['fault']}"
        yield "Compiled parts of fairseq"
        for name, works in findings["compiled"].items():
            yield f"  {name:<36}{'works' if works else 'MISSING'}"
        for name, works in findings["optional_compiled"].items():
            yield f"  {name:<36}{'works' if works else f'not built ({OPTIONAL_COMPILED[name]})'}"
        yield f"--user-dir fairseq_posenc {'loads' if findings['plugin_loads'] else 'DOES NOT LOAD'}"
    for item in findings["missing"]:
        yield f"missing: {item['what']}: {item['why']}\n    cure: {item['cure']}"
    if not findings["missing"] and not quiet:
        yield "Nothing is missing."
