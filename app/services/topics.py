"""The topics of agents, remembered for a while: a language model picks of them before the database is asked."""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.memory import Scope
from app.domain.words import normalised

SHOWN = 40
"""Topics that a model is shown of."""
_KEPT_MS = 600_000
"""Topics are shown for so long; each recall of the agent reads them again."""
_OVERHEAD = 400
_WORD = re.compile(r"[^\W_]{3,}")
_STEM = 5


@dataclass(frozen=True, slots=True)
class _Kept:
    topics: Sequence[str]
    until: int
    size: int


class TopicCache:
    """The topics that recalls have read, least recently used out first, within a budget of bytes."""

    def __init__(self, budget: int) -> None:
        """Hold at most ``budget`` bytes; 0 remembers nothing."""
        self._budget = budget
        self._held = 0
        self._of: OrderedDict[Scope, _Kept] = OrderedDict()
        self._epochs: dict[str, int] = {}

    def get(self, scope: Scope, now: int) -> Sequence[str]:
        """Return an agent's topics, the newest first; none where they were not read lately."""
        kept = self._of.get(scope)
        if kept is None or kept.until <= now:
            return []
        self._of.move_to_end(scope)
        return kept.topics

    def put(self, scope: Scope, topics: Sequence[str], now: int) -> None:
        """Keep what was read of an agent, in place of what was kept."""
        self._drop(scope)
        size = _OVERHEAD + sum(len(topic.encode()) + 60 for topic in topics)
        if not topics or size > self._budget:
            return
        self._of[scope] = _Kept(topics, now + _KEPT_MS, size)
        self._held += size
        while self._held > self._budget:
            self._drop(next(iter(self._of)))

    def seen(self, tenant_id: str, epoch: int) -> None:
        """Take note of a tenant's epoch, which each erasure moves on: what is older than it is dropped."""
        if epoch == self._epochs.get(tenant_id, 0):
            return
        self._epochs[tenant_id] = epoch
        for scope in [scope for scope in self._of if scope.tenant_id == tenant_id]:
            self._drop(scope)

    def _drop(self, scope: Scope) -> None:
        kept = self._of.pop(scope, None)
        self._held -= 0 if kept is None else kept.size


def nearest(topics: Sequence[str], query: str) -> Sequence[str]:
    """Return the topics that share most words with a query, then the newest: as many as are ``SHOWN``."""
    asked = _stems(query)
    return sorted(topics, key=lambda topic: -len(_stems(topic) & asked))[:SHOWN]


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _WORD.findall(normalised(text).casefold()))
