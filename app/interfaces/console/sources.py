"""The sources of a memory that may be taken back, each with how many memories it has."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.memory import Memory
from app.domain.undoing import Selected
from app.interfaces.console.page import Visit


@dataclass(frozen=True, slots=True)
class CountedSource:
    """A session, a run or a credential, and how many memories it has; 501 stands for 501 or more."""

    kind: str
    id: str
    source: Selected
    memories: int


async def sources_of(visit: Visit, memory: Memory) -> Sequence[CountedSource]:
    """Return the sources of a memory, the smallest kind first; none for who may not take any back."""
    if not visit.principal.admin or visit.principal.agent_id is not None:
        return []
    writer = memory.source.credential_id if memory.source else None
    named = [
        ("session", memory.session_id, Selected(agent_id=memory.agent_id, session_id=memory.session_id))
        if memory.session_id
        else None,
        ("run", memory.run_id, Selected(run_id=memory.run_id)) if memory.run_id else None,
        ("credential", writer, Selected(credential_id=writer)) if writer else None,
    ]
    given = [each for each in named if each is not None]
    if not given:
        return []
    counts = await visit.entry.every_agent().undo_taught.counts([source for _, _, source in given])
    return [
        CountedSource(kind, str(id_), source, count) for (kind, id_, source), count in zip(given, counts, strict=True)
    ]
