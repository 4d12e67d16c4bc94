"""Who speaks in the memories of agents, remembered for a while: their names are left out of what is embedded."""

from collections.abc import Collection
from itertools import islice
from typing import TypeAlias

from app.domain.memory import Scope
from app.services.tenant.tenant_cache import TenantCache

_MOST = 64
"""Names that are kept of an agent, those that were found last among them."""
_OVERHEAD, _NAME_BYTES = 400, 100


SpeakerCache: TypeAlias = TenantCache[Scope, frozenset[str]]
"""The first names, in lower case, of the speakers whom recalls of agents have found."""


def remember(cache: SpeakerCache, scope: Scope, names: Collection[str]) -> None:
    """Keep names that a recall has found, beside those that are kept."""
    known = cache.find(scope) or frozenset()
    if not known.issuperset(names):
        kept = frozenset(islice(dict.fromkeys((*sorted(names), *sorted(known))), _MOST))
        cache.put(scope.tenant_id, scope, kept, _OVERHEAD + _NAME_BYTES * len(kept))
