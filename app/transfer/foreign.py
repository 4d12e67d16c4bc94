"""The formats of other systems, where they are installed: the one place that looks for them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, TextIO, cast

from app.transfer.record import Record

_MODULE = "app.transfer.formats"


class Flaw(Protocol):
    """An entry that cannot be taken: where it stands, and why."""

    @property
    def place(self) -> str:
        """Where in the file."""
        ...

    @property
    def reason(self) -> str:
        """What is wrong with it."""
        ...


class Format(Protocol):
    """How another system writes memories down."""

    @property
    def read(self) -> Callable[[TextIO, str], Iterator[Record | Flaw]]:
        """Read records one by one; the second argument is whose they are where the format does not say."""
        ...

    @property
    def write(self) -> Callable[[Iterable[Record]], Iterator[str]] | None:
        """Write records, piece by piece; None where that system takes none in."""
        ...


def formats() -> Mapping[str, Format]:
    """Return the formats by name."""
    if find_spec(_MODULE) is None:
        return {}
    return cast(Mapping[str, Format], import_module(_MODULE).FORMATS)
