"""The caches of a process for its tenants. No value is older than the last erasure of its tenant that is known."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from app.domain.memory import Scope
from app.domain.shards import MAIN
from app.services.tenant.context_cache import ContextCache
from app.services.tenant.embedder import QueryCache
from app.services.tenant.speakers import SpeakerCache
from app.services.tenant.tenant_cache import TenantCache
from app.services.tenant.topics import HOLDS_MS, TopicCache
from app.storage.outbox import PendingVectors
from app.storage.postings import KeptPostings, Postings

_TOPIC_BYTES = 4 * 1024 * 1024
_SPEAKER_BYTES = 4 * 1024 * 1024
_CONTEXT_BYTES = 16 * 1024 * 1024
_CONTEXT_SECONDS = 30
_PENDING_BYTES = 64 * 1024 * 1024
"""About 10,000 queued vectors of 1,536 dimensions."""
_POSTING_BYTES = 16 * 1024 * 1024
"""Two million memories of words."""

PostingsKey: TypeAlias = tuple[str, Scope, str]
"""The shard, the scope and the word."""


@dataclass(frozen=True, slots=True)
class TenantCaches:
    """The caches of a process; all tenants share them, and each tenant has its own values there."""

    queries: QueryCache = field(default_factory=lambda: TenantCache(0))
    topics: TopicCache = field(default_factory=lambda: TenantCache(_TOPIC_BYTES, HOLDS_MS))
    """The topics of agents' learned memories, for the models of recalls."""
    speakers: SpeakerCache = field(default_factory=lambda: TenantCache(_SPEAKER_BYTES))
    """The names of the speakers in agents' memories."""
    context: ContextCache = field(default_factory=lambda: ContextCache(_CONTEXT_BYTES, _CONTEXT_SECONDS))
    """The shared documents that were read lately."""
    pending: TenantCache[tuple[Scope, str], PendingVectors] = field(default_factory=lambda: TenantCache(_PENDING_BYTES))
    """The queued vectors of agents that this process has read or written, by scope and the name of their index."""
    postings: TenantCache[PostingsKey, Postings] = field(default_factory=lambda: TenantCache(_POSTING_BYTES))
    """The memories of words that were searched for in steps, by shard, scope and word."""
    shard: str = MAIN
    """The shard whose tenants use the caches. Each numbers its memories: a tenant that moves gets other numbers."""
    _epochs: dict[str, int] = field(default_factory=dict)

    def seen(self, tenant_id: str, epoch: int) -> None:
        """Take note of a tenant's epoch, which each erasure moves on; a new epoch clears the tenant's values."""
        if epoch == self._epochs.get(tenant_id, 0):
            return
        self._epochs[tenant_id] = epoch
        for cache in (self.queries, self.topics, self.speakers, self.context, self.pending, self.postings):
            cache.forget(tenant_id)

    def kept_postings(self, scope: Scope, words: Iterable[str]) -> KeptPostings:
        """Return what is kept of the memories of a scope that have these words."""
        found = ((word, self.postings.find((self.shard, scope, word))) for word in words)
        return KeptPostings({word: postings for word, postings in found if postings is not None})

    def keep_postings(self, scope: Scope, kept: KeptPostings) -> None:
        """Keep what a search of the scope has read."""
        for word, postings in kept.read.items():
            size = postings.size + sys.getsizeof(word)
            self.postings.put(scope.tenant_id, (self.shard, scope, word), postings, size)
