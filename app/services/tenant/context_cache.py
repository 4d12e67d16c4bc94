"""Caches shared documents for some seconds: every agent of a tenant reads the same documents, again and again."""

from collections.abc import Iterable, Sequence

from app.domain.context import ContextDocument, ContextRead
from app.services.tenant.tenant_cache import TenantCache

_OVERHEAD = 600
_Key = tuple[str, str | None]
"""The tenant, and a document's name; None stands for the list of the tenant's names."""


class ContextCache(TenantCache[_Key, ContextDocument | Sequence[str]]):
    """The documents that were read lately. The absence of a document is not remembered."""

    def __init__(self, budget: int, seconds: int) -> None:
        """Hold at most ``budget`` bytes, each document for ``seconds``; 0 of either remembers nothing."""
        super().__init__(budget, seconds * 1000)
        self.seconds = seconds

    def document(self, tenant_id: str, name: str, now: int) -> ContextRead | None:
        """Return a tenant's document, where it was read lately; ``now`` is in milliseconds since the epoch."""
        read = self.entry((tenant_id, name), now)
        if read is None or not isinstance(read.value, ContextDocument):
            return None
        return ContextRead(read.value, now - read.at)

    def names(self, tenant_id: str, now: int) -> Sequence[str] | None:
        """Return the names of all of a tenant's documents, where they were read lately."""
        names = self.find((tenant_id, None), now)
        return None if isinstance(names, ContextDocument) else names

    def put_documents(self, tenant_id: str, documents: Iterable[ContextDocument], read_at: int, changes: int) -> None:
        """Keep documents as of the moment before the read, unless this process has changed a document since."""
        for document in documents:
            size = _OVERHEAD + len(document.content.encode())
            self.put(tenant_id, (tenant_id, document.name), document, size, read_at, since=changes)

    def put_names(self, tenant_id: str, names: Sequence[str], read_at: int, changes: int) -> None:
        """Keep the names of all of a tenant's documents, as ``put_documents`` does."""
        size = _OVERHEAD + sum(len(name) + 60 for name in names)
        self.put(tenant_id, (tenant_id, None), names, size, read_at, since=changes)

    def changed(self, tenant_id: str, name: str) -> None:
        """Forget a document that was, or may have been, changed; a read that is under way is not kept."""
        self._changes += 1
        self.drop((tenant_id, name))
        self.drop((tenant_id, None))
