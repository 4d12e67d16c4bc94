"""Tenants take turns."""

from hypothesis import given
from hypothesis import strategies as st

from app.domain.turns import TenantTurns


def drained(turns: TenantTurns[int]) -> list[tuple[str, int]]:
    taken = []
    while (next_ := turns.take()) is not None:
        taken.append(next_)
    return taken


def test_each_tenant_has_one_turn_before_any_has_another() -> None:
    turns = TenantTurns[int]()
    for number in range(3):
        turns.put("loud", number)
    turns.put("quiet", 9)
    assert drained(turns) == [("loud", 0), ("quiet", 9), ("loud", 1), ("loud", 2)]


def test_who_does_not_fit_keeps_the_turn() -> None:
    turns = TenantTurns[int]()
    for tenant, number in (("a", 5), ("b", 1)):
        turns.put(tenant, number)
    assert turns.take(lambda number: number < 3) == ("b", 1)
    assert turns.take(lambda number: number < 3) is None
    assert drained(turns) == [("a", 5)]


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_all_come_to_their_turn_in_the_order_of_their_tenant(tenants: list[str]) -> None:
    turns = TenantTurns[int]()
    for number, tenant in enumerate(tenants):
        turns.put(tenant, number)
    taken = drained(turns)
    assert sorted(number for _, number in taken) == list(range(len(tenants)))
    for tenant in "abc":
        of_tenant = [number for owner, number in taken if owner == tenant]
        assert of_tenant == sorted(of_tenant)
    assert not turns


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_queue_is_behind_by_what_the_item_taken_last_had_waited_as_long_as_others_wait() -> None:
    clock = Clock()
    turns = TenantTurns[int](clock)
    assert turns.lag("a") == 0
    for number in range(3):
        turns.put("a", number)
    clock.now = 2.0
    assert turns.lag("a") == 0  # nothing is taken: whatever holds up who takes is not the number of items
    turns.take()
    assert turns.lag("a") == 2
    turns.take()
    turns.take()
    assert turns.lag("a") == 0


def test_what_waits_behind_others_of_its_own_tenant_delays_no_other_tenant() -> None:
    clock = Clock()
    turns = TenantTurns[int](clock)
    for number in range(10):
        turns.put("loud", number)
    clock.now = 2.0
    for _ in range(5):
        turns.take()
    assert (turns.lag("loud"), turns.lag("quiet")) == (2, 0)


def test_a_queue_is_behind_for_all_where_the_first_item_of_each_tenant_waits() -> None:
    clock = Clock()
    turns = TenantTurns[int](clock)
    for tenant in "abc":
        turns.put(tenant, 1)
    clock.now = 2.0
    turns.take()
    assert turns.lag("d") == 2
    drained(turns)
    assert turns.lag("d") == 0


def test_what_is_put_back_has_waited_since_it_came() -> None:
    clock = Clock()
    turns = TenantTurns[int](clock)
    turns.put("a", 1)
    clock.now = 2.0
    assert turns.take() == ("a", 1)
    turns.put_first("a", 1)
    assert turns.lag("b") == 2
    clock.now = 3.0
    assert turns.take_older(3) == ("a", 1)


def test_what_has_waited_for_long_is_found_whoever_has_the_turn() -> None:
    clock = Clock()
    turns = TenantTurns[int](clock)
    turns.put("a", 1)
    turns.put("a", 2)
    clock.now = 1.0
    turns.put("b", 3)
    assert turns.take() == ("a", 1)
    assert turns.take_older(2) is None
    assert turns.take_older(1) == ("a", 2)
    assert turns.take_older(1) is None
    assert drained(turns) == [("b", 3)]


def test_what_is_kept_waiting_for_the_sake_of_others_tells_nothing_of_how_long_they_wait() -> None:
    clock = Clock()
    turns = TenantTurns[int](clock)
    for tenant in "abc":
        turns.put(tenant, 1, held=True)
    clock.now = 2.0
    turns.take()
    assert turns.lag("d") == 0
    turns.put("d", 1)
    clock.now = 3.0
    drained(turns)
    assert turns.lag("d") == 0
    turns.put("e", 1)
    turns.put("f", 1, held=True)
    clock.now = 4.0
    turns.take()
    assert turns.lag("g") == 0  # nobody waits whose wait tells of others
