"""The delivery of vectors to the index: rows of the outbox, and their outcomes."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.memory import Scope

Outcome: TypeAlias = Literal["acknowledged", "lost", "waits", "confirmed", "settled", "refused"]
"""The outcome of one revision of a row of the outbox.

- ``acknowledged``: the index took it at ``at``, by its own clock; of one revision the first acknowledgement counts.
- ``lost``: it was acknowledged long ago and the index does not have it, so it has to be sent again.
- ``waits``: the index does not tell yet whether it shows the revision.
- ``confirmed``: the index shows the revision; recall continues to score it for a while.
- ``settled``: nothing is left to do, and the row may be deleted.
- ``refused``: the index does not accept the revision, for ``reason``.
"""


@dataclass(frozen=True, slots=True)
class OutboxKey:
    """Identifies one revision of a row of the outbox."""

    scope: Scope
    id: str
    index_name: str
    revision: int


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The outcome of one revision of a row of the outbox, which is still to be written to the row."""

    key: OutboxKey
    outcome: Outcome
    at: int = 0
    reason: str = ""
    confirm_ms: int = 0
    """How long after an acknowledgement the index is first asked whether it shows the vector, in milliseconds."""
