"""The formats of other systems, where they are installed: the one place that looks for them."""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import BinaryIO, Protocol, cast

from app.transfer.record import Record

_MODULE = "app.transfer.formats"


class Format(Protocol):
    """How another system writes memories down."""

    def read(self, stream: BinaryIO, agent_id: str) -> Iterator[Record]:
        """Read records one by one; ``agent_id`` is whose they are where the format does not say."""
        ...

    def write(self, records: Iterable[Record]) -> Iterator[str]:
        """Write records, piece by piece."""
        ...


def formats() -> Mapping[str, Format]:
    """Return the formats by name."""
    if find_spec(_MODULE) is None:
        return {}
    return cast(Mapping[str, Format], import_module(_MODULE).FORMATS)
