"""How a process learns which credentials hold no longer."""

import asyncio
from dataclasses import dataclass, field

import pytest

from app.domain.errors import DatabaseUnavailable, Unauthenticated
from app.services.access.credentials import Principal
from app.services.access.revocations import MAX_AGE_SECONDS, Revocation, Revocations


@dataclass
class Database:
    """Has revocations, and counts how often it is asked."""

    revocations: list[Revocation] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    away: bool = False

    async def read(self, since: int) -> list[Revocation]:
        self.asked.append(since)
        await asyncio.sleep(0)
        if self.away:
            raise DatabaseUnavailable("The database is away.")
        return [revocation for revocation in self.revocations if revocation.revoked_at > since]


@dataclass
class Clock:
    """Time of the loop, which passes when it is told to."""

    now: float = 1000.0


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: clock.now)
    return clock


def principal(credential_id: str = "one", *, tenant_id: str = "acme", issued_at: int = 1000) -> Principal:
    return Principal(tenant_id, credential_id=credential_id, issued_at=issued_at)


async def test_a_revoked_credential_is_refused_and_others_are_not() -> None:
    database, revocations = Database([Revocation("acme", "one", None, 5)]), Revocations()
    with pytest.raises(Unauthenticated):
        await revocations.check(principal("one"), database.read)
    await revocations.check(principal("two"), database.read)
    await revocations.check(principal("one", tenant_id="globex"), database.read)


async def test_all_credentials_of_a_tenant_that_were_issued_before_a_moment_are_refused() -> None:
    database, revocations = Database([Revocation("acme", "", 2000, 5)]), Revocations()
    with pytest.raises(Unauthenticated):
        await revocations.check(principal(issued_at=1999), database.read)
    await revocations.check(principal(issued_at=2000), database.read)
    await revocations.check(principal(issued_at=1, tenant_id="globex"), database.read)


async def test_what_is_known_is_read_again_once_it_is_20_seconds_old(clock: Clock) -> None:
    database, revocations = Database(), Revocations()
    await revocations.check(principal(), database.read)
    database.revocations.append(Revocation("acme", "one", None, 7))
    clock.now += MAX_AGE_SECONDS - 0.1
    await revocations.check(principal(), database.read)
    assert database.asked == [0]
    clock.now += 0.1
    with pytest.raises(Unauthenticated):
        await revocations.check(principal(), database.read)
    assert database.asked == [0, 0, 7]


async def test_while_requests_read_in_passing_that_nothing_is_new_nothing_is_read_for_it(clock: Clock) -> None:
    database, revocations = Database([Revocation("acme", "another", None, 7)]), Revocations()
    for _ in range(10):
        await revocations.check(principal(), database.read)
        clock.now += MAX_AGE_SECONDS - 1
        revocations.seen(7)
    assert database.asked == [0, 7]


async def test_a_revocation_that_is_seen_in_passing_is_read_before_the_next_request() -> None:
    database, revocations = Database(), Revocations()
    await revocations.check(principal(), database.read)
    database.revocations.append(Revocation("acme", "one", None, 7))
    revocations.seen(7)
    with pytest.raises(Unauthenticated):
        await revocations.check(principal(), database.read)


async def test_requests_that_come_together_wait_for_one_reading() -> None:
    database, revocations = Database(), Revocations()
    await asyncio.gather(*(revocations.check(principal(), database.read) for _ in range(10)))
    assert database.asked == [0]


async def test_a_caller_who_goes_takes_nobody_elses_reading_along() -> None:
    database, revocations = Database(), Revocations()
    first = asyncio.create_task(revocations.check(principal(), database.read))
    second = asyncio.create_task(revocations.check(principal(), database.read))
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert database.asked == [0]


async def test_where_it_cannot_be_known_nobody_is_let_in() -> None:
    database, revocations = Database(away=True), Revocations()
    with pytest.raises(DatabaseUnavailable):
        await revocations.check(principal(), database.read)
    database.away = False
    await revocations.check(principal(), database.read)


async def test_revocations_are_read_page_by_page() -> None:
    database, revocations = Database([Revocation("acme", f"c{n}", None, n) for n in range(1, 6)]), Revocations()

    async def pages_of_two(since: int) -> list[Revocation]:
        return (await database.read(since))[:2]

    for number in range(1, 6):
        with pytest.raises(Unauthenticated):
            await revocations.check(principal(f"c{number}"), pages_of_two)
    assert database.asked == [0, 2, 4, 5]


async def test_with_a_maximum_age_of_0_each_request_learns_what_was_revoked_before_it_began() -> None:
    database, revocations = Database(), Revocations(0.0)
    await revocations.check(principal(), database.read)
    revocations.seen(None)
    earlier = asyncio.create_task(revocations.check(principal("two"), database.read))
    while not database.asked[1:]:  # a reading is under way, and has seen nothing
        await asyncio.sleep(0)
    database.revocations.append(Revocation("acme", "one", None, 7))
    with pytest.raises(Unauthenticated):
        await revocations.check(principal(), database.read)
    await earlier


async def test_with_a_maximum_age_of_0_requests_that_come_together_share_a_reading() -> None:
    database, revocations = Database(), Revocations(0.0)
    await asyncio.gather(*(revocations.check(principal(f"{number}"), database.read) for number in range(20)))
    assert len(database.asked) <= 2


@dataclass
class Version:
    """The version of the database's data; None: it does not tell."""

    now: int | None = 1

    def __call__(self) -> int | None:
        return self.now


async def test_while_nobody_writes_no_request_reads_and_after_a_write_the_next_one_does(clock: Clock) -> None:
    database, version = Database(), Version()
    revocations = Revocations(0.0, version)
    for _ in range(3):
        await revocations.check(principal(), database.read)
        clock.now += 1
    assert len(database.asked) == 1
    version.now = 2
    database.revocations.append(Revocation("acme", "one", None, 5))
    with pytest.raises(Unauthenticated):
        await revocations.check(principal(), database.read)
    with pytest.raises(Unauthenticated):
        await revocations.check(principal(), database.read)
    assert len(database.asked) == 3  # a page, and the end


async def test_what_is_written_during_a_reading_is_read_by_the_next_request(clock: Clock) -> None:
    database, version = Database(), Version()
    revocations = Revocations(0.0, version)

    async def read(since: int) -> list[Revocation]:
        rows = await database.read(since)
        if version.now == 1:  # this reading has seen the state before the write
            version.now = 2
            database.revocations.append(Revocation("acme", "one", None, 5))
        return rows

    await revocations.check(principal(), read)
    clock.now += 1
    with pytest.raises(Unauthenticated):
        await revocations.check(principal(), read)


@pytest.mark.parametrize("now", [None, 1])
async def test_a_version_that_does_not_tell_or_that_stands_still_for_long_is_not_relied_on(
    clock: Clock, now: int | None
) -> None:
    database, revocations = Database(), Revocations(0.0, Version(now))
    await revocations.check(principal(), database.read)
    clock.now += MAX_AGE_SECONDS if now else 1
    await revocations.check(principal(), database.read)
    assert len(database.asked) == 2
