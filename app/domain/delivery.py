"""What becomes of a vector on its way to the index."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.memory import Scope

Kind: TypeAlias = Literal["acknowledged", "lost", "waits", "confirmed", "settled", "refused"]
"""What became of one revision of a row.

- ``acknowledged``: the index took it at ``at``, by its own clock; of one revision the first acknowledgement counts.
- ``lost``: it was acknowledged long ago and is not there, so it has to be sent again.
- ``waits``: the index does not say yet how far it is.
- ``confirmed``: the index shows it; recall goes on scoring it for a while.
- ``settled``: nothing is left to do, the row may go.
- ``refused``: the index does not take it as it is, for ``reason``.
"""


@dataclass(frozen=True, slots=True)
class RowKey:
    """One revision of one row."""

    scope: Scope
    id: str
    index_name: str
    revision: int


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What became of one revision of a row."""

    row: RowKey
    kind: Kind
    at: int = 0
    reason: str = ""
    confirm_ms: int = 0
    """After an acknowledgement, how long it is not worth asking whether the index shows it."""
