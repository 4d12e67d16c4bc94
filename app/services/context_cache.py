"""Shared documents, remembered for a few seconds: every agent of a tenant reads the same ones, again and again."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.context import ContextDocument, ContextRead

_OVERHEAD = 600
_Key = tuple[str, str | None]
"""The tenant, and a document's name; None stands for the list of the tenant's names."""


@dataclass(frozen=True, slots=True)
class _Kept:
    what: ContextDocument | Sequence[str]
    read_at: int
    size: int


class ContextCache:
    """The documents that were read lately, least recently used out first, within a budget of bytes.

    What was read longer ago than ``seconds`` is never returned. That a document is not there is not remembered.
    """

    def __init__(self, budget: int, seconds: int) -> None:
        """Hold at most ``budget`` bytes, each for ``seconds``; 0 of either remembers nothing."""
        self.seconds = seconds
        self._budget = budget if seconds else 0
        self._held = 0
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._epochs: dict[str, int] = {}
        self._changes = 0

    @property
    def held(self) -> int:
        """Bytes held, about."""
        return self._held

    @property
    def changes(self) -> int:
        """How often this process has changed a document: what is kept says what it was before the read began."""
        return self._changes

    def get(self, tenant_id: str, name: str, now: int) -> ContextRead | None:
        """Return a tenant's document, where it was read lately; ``now`` is in milliseconds since the epoch."""
        kept = self._fresh((tenant_id, name), now)
        if kept is None or not isinstance(kept.what, ContextDocument):
            return None
        return ContextRead(kept.what, now - kept.read_at)

    def names(self, tenant_id: str, now: int) -> Sequence[str] | None:
        """Return the names of all of a tenant's documents, where they were read lately."""
        kept = self._fresh((tenant_id, None), now)
        return None if kept is None or isinstance(kept.what, ContextDocument) else kept.what

    def put(self, tenant_id: str, documents: Iterable[ContextDocument], read_at: int, changes: int) -> None:
        """Keep what was read, as of the moment before the read, unless this process has changed a document since."""
        if changes != self._changes:
            return
        for each in documents:
            self._put((tenant_id, each.name), _Kept(each, read_at, _OVERHEAD + len(each.content.encode())))

    def put_names(self, tenant_id: str, names: Sequence[str], read_at: int, changes: int) -> None:
        """Keep the names of all of a tenant's documents, as ``put`` does."""
        if changes == self._changes:
            size = _OVERHEAD + sum(len(each) + 60 for each in names)
            self._put((tenant_id, None), _Kept(names, read_at, size))

    def changed(self, tenant_id: str, name: str) -> None:
        """Forget a document that was, or may have been, changed; what is being read now is not kept."""
        self._changes += 1
        self._drop((tenant_id, name))
        self._drop((tenant_id, None))

    def seen(self, tenant_id: str, epoch: int) -> None:
        """Take note of a tenant's epoch, which each erasure moves on: what is older than it is forgotten."""
        if epoch == self._epochs.get(tenant_id, 0):
            return
        self._epochs[tenant_id] = epoch
        self._changes += 1
        for key in [key for key in self._kept if key[0] == tenant_id]:
            self._drop(key)

    def _fresh(self, key: _Key, now: int) -> _Kept | None:
        kept = self._kept.get(key)
        if kept is None or not 0 <= now - kept.read_at < self.seconds * 1000:
            return None
        self._kept.move_to_end(key)
        return kept

    def _put(self, key: _Key, kept: _Kept) -> None:
        self._drop(key)
        if kept.size > self._budget:
            return
        self._kept[key] = kept
        self._held += kept.size
        while self._held > self._budget:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        kept = self._kept.pop(key, None)
        self._held -= 0 if kept is None else kept.size
