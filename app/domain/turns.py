"""A queue in which tenants take turns (ADR 0020)."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Gives one item of each tenant after the other; the items of one tenant come in their order.

    It is not safe for threads.
    """

    def __init__(self) -> None:
        """Begin with nobody."""
        self._of: dict[str, deque[T]] = {}  # whose turn is next comes first

    def __bool__(self) -> bool:
        """Whether anybody waits."""
        return bool(self._of)

    def put(self, tenant_id: str, item: T) -> None:
        """Let an item wait behind the others of its tenant."""
        self._of.setdefault(tenant_id, deque()).append(item)

    def put_first(self, tenant_id: str, item: T) -> None:
        """Let an item wait before all others."""
        items = self._of.pop(tenant_id, None) or deque()
        items.appendleft(item)
        self._of = {tenant_id: items, **self._of}

    def take(self, fits: Callable[[T], bool] = lambda _: True) -> tuple[str, T] | None:
        """Return the next item and its tenant, who then waits behind all others; None where no tenant's next fits."""
        for tenant_id, items in self._of.items():
            if fits(items[0]):
                del self._of[tenant_id]
                item = items.popleft()
                if items:
                    self._of[tenant_id] = items
                return tenant_id, item
        return None
