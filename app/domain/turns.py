"""A queue in which tenants take turns (ADR 0020)."""

import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TenantTurns(Generic[T]):
    """Gives one item of each tenant after the other; the items of one tenant come in their order.

    It is not safe for threads, except for ``lag``.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without items; the clock returns seconds."""
        self._clock = clock
        self._of: dict[str, deque[tuple[float, T]]] = {}  # the tenant whose turn is next comes first
        self._waited = 0.0
        """How many seconds the item that was taken last had waited."""

    def __bool__(self) -> bool:
        """Whether any item waits."""
        return bool(self._of)

    @property
    def lag(self) -> float:
        """How many seconds the item that was taken last had waited; 0 where no item waits now.

        The lag does not grow while no item is taken: then the taker is held up by something else than too many items.
        """
        return self._waited if self._of else 0.0

    def put(self, tenant_id: str, item: T) -> None:
        """Let an item wait behind the others of its tenant."""
        self._of.setdefault(tenant_id, deque()).append((self._clock(), item))

    def put_first(self, tenant_id: str, item: T) -> None:
        """Let an item that was taken wait again, before all others."""
        items = self._of.pop(tenant_id, None) or deque()
        items.appendleft((self._clock() - self._waited, item))
        self._of = {tenant_id: items, **self._of}

    def take(self, fits: Callable[[T], bool] = lambda _: True) -> tuple[str, T] | None:
        """Return the next item and its tenant, which then waits behind all others; None where no next item fits."""
        for tenant_id, items in self._of.items():
            if fits(items[0][1]):
                return tenant_id, self._take(tenant_id)
        return None

    def take_older(self, seconds: float) -> tuple[str, T] | None:
        """Return an item that has waited for at least ``seconds``, and its tenant; None where no item has."""
        latest = self._clock() - seconds
        late = next((tenant_id for tenant_id, items in self._of.items() if items[0][0] <= latest), None)
        return None if late is None else (late, self._take(late))

    def _take(self, tenant_id: str) -> T:
        """Take the tenant's next item; the tenant then waits behind all others."""
        items = self._of.pop(tenant_id)
        asked_at, item = items.popleft()
        self._waited = self._clock() - asked_at
        if items:
            self._of[tenant_id] = items
        return item
