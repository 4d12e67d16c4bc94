"""Imports a package without another one that it only needs for what the service never does."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def without(name: str) -> Iterator[None]:
    """Have what the block imports find an empty module of this name, unless the module is loaded already."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = ModuleType(name)
    try:
        yield
    finally:
        del sys.modules[name]
