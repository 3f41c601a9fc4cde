"""One named architecture for every encoding and size."""

from argparse import Namespace
from collections.abc import Callable, Mapping

from fairseq.models import register_model_architecture

from fairseq_posenc.encodings import PositionEncoding, encoding_class, encoding_names
from fairseq_posenc.models.configuration import given_settings, record_settings

#: Sets what is not set yet.
Architecture = Callable[[Namespace], None]


def register_architectures(model: str, prefix: str, sizes: Mapping[str, Architecture]) -> None:
    """Register ``<prefix>_<encoding>_<size>`` for every encoding; ``-`` in its name is written ``_``.

    Args:
        model: the name of the fairseq model.
        prefix: how the names begin.
        sizes: name of a size -> function that sets what is not set yet, as fairseq's architectures do.
    """
    for name in encoding_names():
        for size, stock_architecture in sizes.items():
            arch = f"{prefix}_{name.replace('-', '_')}_{size}"
            register_model_architecture(model, arch)(_architecture(encoding_class(name), size, stock_architecture))


def _architecture(encoding: type[PositionEncoding], size: str, stock_architecture: Architecture) -> Architecture:
    def architecture(config: Namespace) -> None:
        args = given_settings(config)
        args.position_encoding = getattr(args, "position_encoding", None) or encoding.name
        presets = encoding.size_defaults.get(size, {}) if args.position_encoding == encoding.name else {}
        for argument, value in presets.items():
            attribute = encoding.options()[argument].attribute
            if getattr(args, attribute, None) is None:
                setattr(args, attribute, value)
        stock_architecture(args)
        record_settings(config, args)

    return architecture
