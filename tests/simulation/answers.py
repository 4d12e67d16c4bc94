"""Whether the answer of a recall can be true, by the history of its agent."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from app.domain.query import Filter
from app.services.memories.recall import Recall
from tests.simulation.history import History
from tests.simulation.operations import ViolationError
from tests.simulation.statements import TOLD


@dataclass(frozen=True, slots=True)
class Asked:
    """What a recall asked for, and when it began."""

    text: str
    """A content, or a question of which a key is known."""
    top_k: int
    where: Filter
    began: int


def check(history: History, asked: Asked, found: Recall, pending: AbstractSet[str]) -> None:
    """Check an answer, and learn from it; ``pending`` is what the outbox held all the time."""
    ids = {entry.id for entry in found.entries}
    wanted = asked.where.metadata
    history.check_found(asked.began, found.entries, wanted)
    if "pending_bound" in found.degraded:
        raise ViolationError("more was pending than a recall looks at: the scenario is wrong")
    for key, value in wanted.items():
        if foreign := [entry for entry in found.entries if entry.metadata[key] != value]:
            raise ViolationError(f"recall returned {foreign} though it asked for {asked.where}")
    if "index_unavailable" in found.degraded:
        if not asked.where:
            _check_pending(history, asked, ids, pending)
    elif not _is_full(asked, found):
        _check_missing(history, asked, ids)


def _check_missing(history: History, asked: Asked, ids: set[str]) -> None:
    wanted = asked.where.metadata
    texts = [text for text in history.texts_of(asked.text) if wanted.get("session", text.session) == text.session]
    if "shade" in wanted:
        history.check_missing_shade(asked.began, int(str(wanted["shade"])), texts, ids)
    else:
        history.check_missing(asked.began, texts, ids, wanted)


def _check_pending(history: History, asked: Asked, found: set[str], pending: AbstractSet[str]) -> None:
    """Without the index there is still all that it may not show yet, and never an answer that says: nothing."""
    there = [id_ for id_ in pending if id_ in history.ids() and history.text_of(id_).content == asked.text]
    if known := {id_ for id_ in there if history.shown(asked.began, id_)} - found:
        raise ViolationError(f"recall did not return {sorted(known)}, which the outbox held all the time")
    if not found and any(history.shown(asked.began, id_) for id_ in history.existing(asked.began)):
        raise ViolationError(f"recall of {asked.text} returned nothing though the index could not be asked")


def _is_full(asked: Asked, found: Recall) -> bool:
    """Tell whether there may be more that answers as well: what one key is stated by took all places."""
    stated = TOLD.get(asked.text)
    if stated is None or len(found.entries) < asked.top_k:
        return False
    return all(entry.content in TOLD and TOLD[entry.content].key == stated.key for entry in found.entries)
