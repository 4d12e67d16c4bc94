"""Workers count together what they admit in a minute, however many keys there are, and whoever of them dies."""

import os

import pytest

from app.domain.errors import QuotaExceeded
from app.domain.memory import Scope
from app.services.turns.admission import Admission
from app.services.turns.minute_tally import MinuteTally, SharedTally

NOW = 60_000 * 29_000_000
SCOPE = Scope("acme", "bot")


def of_workers(count: int, **limits: int) -> list[Admission]:
    shared = SharedTally(count)
    return [Admission(counts=MinuteTally(shared, number), **limits) for number in range(count)]


@pytest.mark.parametrize("limit", ["agent_recalls", "tenant_recalls"])
def test_two_workers_together_admit_as_many_recalls_as_one_may(limit: str) -> None:
    workers = of_workers(2, **{limit: 5})
    for number in range(5):
        workers[number % 2].recalls.admit(SCOPE, NOW)
    for worker in workers:
        with pytest.raises(QuotaExceeded) as refused:
            worker.recalls.admit(SCOPE, NOW)
        assert "5 recalls per minute" in refused.value.detail
    workers[1].recalls.admit(Scope("other", "bot"), NOW)
    workers[1].recalls.admit(SCOPE, NOW + 60_000)


def test_two_workers_together_admit_as_many_requests_of_a_credential_and_changes_as_one_may() -> None:
    workers = of_workers(2)
    for number in range(3):
        workers[number % 2].credentials.admit("acme", "id", 3, NOW)
    for number in range(60):
        workers[number % 2].credentials.change("acme", NOW)
    for worker in workers:
        with pytest.raises(QuotaExceeded):
            worker.credentials.admit("acme", "id", 3, NOW)
        with pytest.raises(QuotaExceeded):
            worker.credentials.change("acme", NOW)


def test_what_a_worker_counted_in_a_process_of_its_own_holds_after_its_death() -> None:
    shared = SharedTally(2)
    if not (child := os.fork()):
        for _ in range(4):
            MinuteTally(shared, 1).add(("recalls", "acme"), 7)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert MinuteTally(shared, 0).used(("recalls", "acme"), 7) == 4
    next_worker = MinuteTally(shared, 1)
    next_worker.add(("recalls", "acme"), 7)
    assert MinuteTally(shared, 0).used(("recalls", "acme"), 7) == 5


def test_with_more_keys_than_a_table_has_room_for_each_worker_counts_the_rest_alone_and_none_is_lost_or_mixed() -> None:
    shared = SharedTally(2)
    here, there = MinuteTally(shared, 0), MinuteTally(shared, 1)
    keys = [("recalls", f"tenant-{number}") for number in range(6000)]
    for key in keys:
        here.add(key, 7)
    assert {here.used(key, 7) for key in keys} == {1}
    seen = [there.used(key, 7) for key in keys]
    assert set(seen) == {0, 1}
    assert sum(seen) > 3000


def test_the_rows_of_a_minute_that_has_passed_are_free_for_the_next() -> None:
    shared = SharedTally(1)
    counts = MinuteTally(shared)
    for minute in range(1, 4):
        keys = [("recalls", f"tenant-{minute}-{number}") for number in range(2000)]
        for key in keys:
            counts.add(key, minute)
        assert sum(MinuteTally(shared).used(key, minute) for key in keys) > 1990
        assert counts.used(("recalls", "tenant-1-0"), minute + 1) == 0
