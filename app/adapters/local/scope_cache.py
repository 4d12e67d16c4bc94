"""Keeps the vectors of scopes in memory; every search first updates them from the file."""

import threading
from collections import OrderedDict

from app.adapters.local.scope_vectors import ScopeVectors, bytes_of
from app.domain.memory import Scope


class ScopeCache:
    """A cache of the most recently searched scopes, within a budget of bytes."""

    def __init__(self, dimensions: int, budget: int) -> None:
        """Keep vectors of ``dimensions`` numbers in at most ``budget`` bytes."""
        self._dimensions = dimensions
        self._budget = budget
        self._held = 0
        self._scopes: OrderedDict[Scope, ScopeVectors] = OrderedDict()
        self._sizes: dict[Scope, int] = {}
        self._lock = threading.Lock()

    def get(self, scope: Scope) -> ScopeVectors:
        """Return the scope's vectors, empty at first, and mark them as recently used."""
        with self._lock:
            vectors = self._scopes.get(scope)
            if vectors is None:
                vectors = self._scopes[scope] = ScopeVectors(self._dimensions)
            self._scopes.move_to_end(scope)
            return vectors

    def count(self, scope: Scope) -> int:
        """Return how many vectors of a scope are in memory; a scope that is only asked for takes no memory."""
        with self._lock:
            vectors = self._scopes.get(scope)
            return 0 if vectors is None else vectors.count

    def resized(self, scope: Scope, size: int) -> None:
        """Record the size of a scope, and evict the least recently searched scopes until the rest fit the budget."""
        with self._lock:
            if scope in self._scopes:
                self._held += size - self._sizes.get(scope, 0)
                self._sizes[scope] = size
            while self._held > self._budget and self._scopes:
                oldest, _ = self._scopes.popitem(last=False)
                self._held -= self._sizes.pop(oldest, 0)

    def forget(self, scope: Scope) -> None:
        """Remove a scope."""
        with self._lock:
            self._scopes.pop(scope, None)
            self._held -= self._sizes.pop(scope, 0)

    def fits(self, vectors: int) -> bool:
        """Return whether a scope with this number of vectors fits the budget."""
        return bytes_of(vectors, self._dimensions) <= self._budget
