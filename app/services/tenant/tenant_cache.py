"""A cache of many tenants, within a budget of bytes."""

from collections import OrderedDict
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CacheEntry(Generic[Value]):
    """A value with its tenant, its size in bytes, and the moment as of which it holds (ms since the epoch)."""

    tenant_id: str
    value: Value
    size: int
    at: int


class TenantCache(Generic[Key, Value]):
    """Values of many tenants within a budget of bytes, least recently used out first.

    The tenant is part of each key: how fast one tenant is answered tells nothing of what another asks. Times are in
    milliseconds since the epoch; where values hold for good, none need be given.
    """

    def __init__(self, budget: int, holds_ms: float = inf) -> None:
        """Hold at most ``budget`` bytes, each value for ``holds_ms``; with 0 of either no value is held."""
        self._budget = budget if holds_ms else 0
        self._holds_ms = holds_ms
        self._held = 0
        self._changes = 0
        self._entries: OrderedDict[Key, CacheEntry[Value]] = OrderedDict()

    @property
    def held(self) -> int:
        """Bytes held, about."""
        return self._held

    @property
    def changes(self) -> int:
        """How often values were forgotten or changed. A caller takes it before it reads what it then puts."""
        return self._changes

    def forget(self, tenant_id: str) -> None:
        """Forget all values of a tenant; one that is being read now is not kept."""
        self._changes += 1
        for key in [key for key, entry in self._entries.items() if entry.tenant_id == tenant_id]:
            self.drop(key)

    def find(self, key: Key, now: int = 0) -> Value | None:
        """Return the value, which is then the most recently used; None where there is none, or the value is too old."""
        entry = self.entry(key, now)
        return None if entry is None else entry.value

    def entry(self, key: Key, now: int = 0) -> CacheEntry[Value] | None:
        """Return the value with its tenant, size and moment, as ``find`` does."""
        entry = self._entries.get(key)
        if entry is None or not 0 <= now - entry.at < self._holds_ms:
            return None
        self._entries.move_to_end(key)
        return entry

    def put(self, tenant_id: str, key: Key, value: Value, size: int, at: int = 0, *, since: int | None = None) -> None:
        """Keep a value as of a moment, in place of the key's old value; a value over the whole budget is not kept.

        ``since``: the ``changes`` before the value was read. Where there were more since, it is not kept: it may be of
        what was erased meanwhile.
        """
        if since not in {None, self._changes}:
            return
        self.drop(key)
        if size > self._budget:
            return
        self._entries[key] = CacheEntry(tenant_id, value, size, at)
        self._held += size
        while self._held > self._budget:
            self.drop(next(iter(self._entries)))

    def drop(self, key: Key) -> None:
        """Forget one value."""
        entry = self._entries.pop(key, None)
        self._held -= 0 if entry is None else entry.size
