"""A queue in which tenants take turns (ADR 0020)."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class _Waiting(NamedTuple, Generic[T]):
    """An item, since when it waits, and whether its wait counts in what other tenants would wait."""

    item: T
    since: float
    leads: bool


@dataclass(slots=True)
class _Items(Generic[T]):
    """The items of one tenant, and how many seconds that had waited which was taken last."""

    items: deque[_Waiting[T]] = field(default_factory=deque)
    waited: float = 0.0


class TenantTurns(Generic[T]):
    """Gives one item of each tenant after the other; the items of one tenant come in their order.

    It is not safe for threads, except for ``lag``.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without items; the clock returns seconds."""
        self._clock = clock
        self._lines: dict[str, _Items[T]] = {}  # the tenant whose turn is next comes first
        self._leading = 0
        """How many items wait whose wait counts in what other tenants would wait: the first of their tenants."""
        self._lead_waited = 0.0
        """How many seconds such an item had waited that was taken last."""
        self._waited = 0.0
        """How many seconds any item had waited that was taken last."""

    def __bool__(self) -> bool:
        """Whether any item waits."""
        return bool(self._lines)

    def lag(self, tenant_id: str) -> float:
        """Return how many seconds an item of the tenant waits, as far as those that were taken last tell.

        It waits for the tenant's other items, and for its turn: for that as long as the first item of another tenant
        had waited, while such items wait. So what waits behind others of its own tenant delays no other tenant.

        The lag does not grow while no item is taken: then the taker is held up by something else than too many items.
        """
        line = self._lines.get(tenant_id)
        return max(0.0 if line is None else line.waited, self._lead_waited if self._leading else 0.0)

    def put(self, tenant_id: str, item: T, *, held: bool = False) -> None:
        """Let an item wait behind the others of its tenant.

        ``held``: it may be kept waiting on purpose, so its wait does not count in what other tenants would wait.
        """
        is_first = tenant_id not in self._lines
        if is_first:
            self._lines[tenant_id] = _Items()
        leads = is_first and not held
        self._leading += leads
        self._lines[tenant_id].items.append(_Waiting(item, self._clock(), leads))

    def put_first(self, tenant_id: str, item: T) -> None:
        """Let an item that was taken wait again, before all others."""
        leads = tenant_id not in self._lines
        self._leading += leads
        line = _Items() if leads else self._lines.pop(tenant_id)
        line.items.appendleft(_Waiting(item, self._clock() - self._waited, leads))
        self._lines = {tenant_id: line, **self._lines}

    def take(self, fits: Callable[[T], bool] = lambda _: True) -> tuple[str, T] | None:
        """Return the next item and its tenant, which then waits behind all others; None where no next item fits."""
        for tenant_id, line in self._lines.items():
            if fits(line.items[0].item):
                return tenant_id, self._take(tenant_id)
        return None

    def take_older(self, seconds: float) -> tuple[str, T] | None:
        """Return an item that has waited for at least ``seconds``, and its tenant; None where no item has."""
        latest = self._clock() - seconds
        late = next((tenant_id for tenant_id, line in self._lines.items() if line.items[0].since <= latest), None)
        return None if late is None else (late, self._take(late))

    def _take(self, tenant_id: str) -> T:
        """Take the tenant's next item; the tenant then waits behind all others."""
        line = self._lines.pop(tenant_id)
        taken = line.items.popleft()
        line.waited = self._waited = self._clock() - taken.since
        if taken.leads:
            self._leading -= 1
            self._lead_waited = line.waited
        if line.items:
            self._lines[tenant_id] = line
        return taken.item
