"""Tenants take turns."""

from hypothesis import given
from hypothesis import strategies as st

from app.domain.turns import Turns


def drained(turns: Turns[int]) -> list[tuple[str, int]]:
    taken = []
    while (next_ := turns.take()) is not None:
        taken.append(next_)
    return taken


def test_each_tenant_has_one_turn_before_any_has_another() -> None:
    turns = Turns[int]()
    for number in range(3):
        turns.put("loud", number)
    turns.put("quiet", 9)
    assert drained(turns) == [("loud", 0), ("quiet", 9), ("loud", 1), ("loud", 2)]


def test_who_does_not_fit_keeps_the_turn() -> None:
    turns = Turns[int]()
    for tenant, number in (("a", 5), ("b", 1)):
        turns.put(tenant, number)
    assert turns.take(lambda number: number < 3) == ("b", 1)
    assert turns.take(lambda number: number < 3) is None
    assert drained(turns) == [("a", 5)]


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_all_come_to_their_turn_in_the_order_of_their_tenant(tenants: list[str]) -> None:
    turns = Turns[int]()
    for number, tenant in enumerate(tenants):
        turns.put(tenant, number)
    taken = drained(turns)
    assert sorted(number for _, number in taken) == list(range(len(tenants)))
    for tenant in "abc":
        of_tenant = [number for owner, number in taken if owner == tenant]
        assert of_tenant == sorted(of_tenant)
    assert not turns
