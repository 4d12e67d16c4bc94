"""Caches the topics of agents: a language model picks some of them before the database is asked."""

import re
from collections.abc import Sequence
from typing import TypeAlias

from app.domain.memory import Scope
from app.domain.words import normalised
from app.services.tenant.tenant_cache import TenantCache

SHOWN = 40
"""The most topics that a model is shown."""
HOLDS_MS = 600_000
"""Milliseconds for which topics are held; each recall of the agent that has an analysis reads them again."""
_OVERHEAD = 400
_WORD = re.compile(r"[^\W_]{3,}")
_STEM = 5


TopicCache: TypeAlias = TenantCache[Scope, Sequence[str]]
"""The topics that recalls have read of agents, the newest first."""


def remember(cache: TopicCache, scope: Scope, topics: Sequence[str], now: int, *, since: int) -> None:
    """Keep the topics that were read of an agent, in place of the old ones; ``since`` is as in ``TenantCache.put``."""
    if not topics:
        cache.drop(scope)
        return
    size = _OVERHEAD + sum(len(topic.encode()) + 60 for topic in topics)
    cache.put(scope.tenant_id, scope, topics, size, now, since=since)


def nearest(topics: Sequence[str], query: str) -> Sequence[str]:
    """Return at most ``SHOWN`` topics: those that share most words with a query first, then the newest."""
    asked = _stems(query)
    return sorted(topics, key=lambda topic: -len(_stems(topic) & asked))[:SHOWN]


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _WORD.findall(normalised(text).casefold()))
