"""Sluice: pictures compiled once into a sharded dataset, and played from threads into training.

    import sluice

    sluice.convert("pictures", "data/pictures")
    loader = sluice.Loader("data/pictures", batch_size=256, transform=[
        sluice.RandomResizedCrop(224), sluice.HorizontalFlip()])
    for epoch in range(loader.state_epoch, 90):
        for batch in loader:
            train(batch["image"], batch["label"])

Names, options, defaults and errors are those of the C++ library; reader/python/README.md says what is
particular to Python.
"""

from typing import TYPE_CHECKING

from sluice._sluice import *  # noqa: F401,F403
from sluice._sluice import __version__ as __version__  # type: ignore[attr-defined]
from sluice._instances import instance_masks as instance_masks
from sluice._instances import pack_instances as pack_instances
from sluice._writing import Writer as Writer
from sluice import _arguments

_arguments.finish(globals())
del _arguments

if not TYPE_CHECKING:  # with it, type checkers would allow every name

    def __getattr__(name):
        if name[0] == "_":  # such as _names, while it is imported
            raise AttributeError(f"module 'sluice' has no attribute {name!r}")
        from sluice import _names

        raise AttributeError(_names.missing(name, globals()))
