"""Caches the names of speakers in the memories of agents: these names are left out of the texts that are embedded."""

from collections.abc import Collection
from itertools import islice
from typing import TypeAlias

from app.domain.memory import Scope
from app.services.tenant.tenant_cache import TenantCache

_MOST = 64
"""The most names that are kept for an agent; those that were found last come first."""
_OVERHEAD, _NAME_BYTES = 400, 100


SpeakerCache: TypeAlias = TenantCache[Scope, frozenset[str]]
"""The first names, in lower case, of the speakers that recalls of agents have found."""


def remember(cache: SpeakerCache, scope: Scope, names: Collection[str], *, since: int) -> None:
    """Keep names that a recall has found, beside the agent's earlier ones; ``since`` is as in ``TenantCache.put``."""
    known = cache.find(scope) or frozenset()
    if not known.issuperset(names):
        kept = frozenset(islice(dict.fromkeys((*sorted(names), *sorted(known))), _MOST))
        cache.put(scope.tenant_id, scope, kept, _OVERHEAD + _NAME_BYTES * len(kept), since=since)
