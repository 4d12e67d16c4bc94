"""A cache of many tenants: within a budget of bytes, and nothing in it is older than its tenant's last erasure."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _CacheEntry(Generic[Value]):
    tenant_id: str
    value: Value
    size: int


class TenantCache(Generic[Key, Value]):
    """Values of many tenants within a budget of bytes, least recently used out first."""

    def __init__(self, budget: int) -> None:
        """Hold at most ``budget`` bytes; 0 remembers nothing."""
        self._budget = budget
        self._held = 0
        self._entries: OrderedDict[Key, _CacheEntry[Value]] = OrderedDict()
        self._epochs: dict[str, int] = {}

    @property
    def held(self) -> int:
        """Bytes held, about."""
        return self._held

    def seen(self, tenant_id: str, epoch: int) -> None:
        """Take note of a tenant's epoch, which each erasure moves on: what is older than it is forgotten."""
        if epoch == self._epochs.get(tenant_id, 0):
            return
        self._epochs[tenant_id] = epoch
        self.forget(tenant_id)

    def forget(self, tenant_id: str) -> None:
        """Forget all of a tenant."""
        for key in [key for key, entry in self._entries.items() if entry.tenant_id == tenant_id]:
            self._drop(key)

    def find(self, key: Key) -> Value | None:
        """Return a value, now the most recently used, or None where it is not kept."""
        value = self._find(key)
        if value is not None:
            self._used(key)
        return value

    def _find(self, key: Key) -> Value | None:
        """Return a value, or None."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def _used(self, key: Key) -> None:
        """Make a value the most recently used."""
        self._entries.move_to_end(key)

    def _keep(self, key: Key, tenant_id: str, value: Value, size: int) -> None:
        """Keep a value in place of what the key had; one that is larger than the whole budget is not kept."""
        self._drop(key)
        if size > self._budget:
            return
        self._entries[key] = _CacheEntry(tenant_id, value, size)
        self._held += size
        while self._held > self._budget:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        self._held -= 0 if entry is None else entry.size
