"""The rows of administrative acts: begun, ended, counted, listed, checked and pruned, on any database."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.acts import DEPLOYMENT, Act, ActFilter, ActName, counts_of, subject_of
from app.domain.errors import DatabaseUnavailable, Forbidden, NotFound
from app.indexing.jobs.prune import Prune
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Row
from app.runtime.acts import LateActs
from app.services.access.acting import Acting, RunStatements, begin, ended
from app.services.access.acts import Acts
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.tables import column_of, delete_rows, set_rows

KEY, DAY = b"a key", 24 * 3600
_ACTS = "administrative_act"


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


async def begun(bench: Bench, tenant: str = "acme", name: ActName = "agent.erase", **subject: object) -> Acting:
    by = Act("", name, channel="http", credential_id="ann", request_id="r-1")
    late: list[Any] = []
    return await begin(
        name, tenant, bench.database.run, key=KEY, late=lambda *act: late.append(act), by=by, subject=subject
    )


def acts_of(bench: Bench, tenant: str = "acme") -> Acts:
    return Acts(tenant, bench.database.run)


async def listed(bench: Bench, tenant: str = "acme", **where: Any) -> list[Act]:
    return list((await acts_of(bench, tenant).list(ActFilter(**where), limit=100)).items)


async def test_an_act_has_begun_until_it_has_its_outcome(bench: Bench) -> None:
    acting = await begun(bench, agent_id="bot")
    (row,) = await listed(bench)
    assert (row.outcome, row.subject, row.signature, row.ended_at) == ("begun", {"agent_id": "bot"}, None, None)
    acting.counts["memories"] = 3
    acting.subject["id"] = "o-1"
    await acting.end()
    (row,) = await listed(bench)
    assert (row.outcome, row.counts, row.subject) == ("done", {"memories": 3}, {"agent_id": "bot", "id": "o-1"})
    assert row.ended_at is not None
    assert row.is_signed([b"another", KEY], "acme")
    assert not row.is_signed([KEY], "globex")


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (Forbidden("No."), "refused", "forbidden"),
        (NotFound("No."), "failed", "not_found"),
        (ValueError("secret words"), "failed", "ValueError"),
    ],
)
async def test_an_act_that_fails_tells_the_code_and_never_the_words(
    bench: Bench, error: Exception, outcome: str, code: str
) -> None:
    with pytest.raises(type(error)):
        async with ended(await begun(bench)):
            raise error
    (row,) = await listed(bench)
    assert (row.outcome, row.code) == (outcome, code)


async def test_an_outcome_that_its_caller_did_not_wait_for_is_written_later(bench: Bench) -> None:
    late = LateActs("process", bench.backends.clock, lambda: KEY)
    acting, writes = await begun(bench), asyncio.Event()

    async def hangs(_: object) -> list[list[Row]]:
        writes.set()
        return await asyncio.Future()

    async def run_of(_: str) -> RunStatements:
        return bench.database.run

    ending = asyncio.create_task(replace(acting, run=hangs, late=late.ended).end())
    await writes.wait()
    ending.cancel()
    await asyncio.wait([ending])
    await late.write(run_of)
    assert ending.cancelled()
    assert [row.outcome for row in await listed(bench)] == ["done"]


async def test_an_outcome_is_written_once(bench: Bench) -> None:
    acting = await begun(bench)
    await acting.end()
    await acting.end(NotFound("No."))
    assert [row.outcome for row in await listed(bench)] == ["done"]


async def test_acts_that_begin_at_once_are_numbered_without_a_gap(bench: Bench) -> None:
    await asyncio.gather(*(begun(bench) for _ in range(20)), *(begun(bench, "globex") for _ in range(5)))
    assert sorted(row.number for row in await listed(bench)) == list(range(1, 21))
    assert sorted(row.number for row in await listed(bench, "globex")) == list(range(1, 6))
    assert await listed(bench, DEPLOYMENT) == []


async def test_filters_leave_out_what_they_say_and_pages_go_on(bench: Bench) -> None:
    for name in ("agent.erase", "agent.set", "agent.erase"):
        async with ended(await begun(bench, name=name)):
            pass
    await begun(bench)
    assert [row.number for row in await listed(bench, act="agent.erase")] == [4, 3, 1]
    assert [row.number for row in await listed(bench, outcome="begun")] == [4]
    assert [row.number for row in await listed(bench, outcome="done", act="agent.set", credential_id="ann")] == [2]
    assert await listed(bench, credential_id="bob") == []
    first = await acts_of(bench).list(ActFilter(), limit=3)
    second = await acts_of(bench).list(ActFilter(), limit=3, after=first.after)
    assert [row.number for row in [*first.items, *second.items]] == [4, 3, 2, 1]
    assert second.after is None


async def test_all_acts_are_read_in_order_over_many_pages(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.access.acts.PAGE", 2)
    for _ in range(5):
        await begun(bench)
    pages = [page async for page in acts_of(bench).in_order()]
    assert [[row.number for row in page] for page in pages] == [[1, 2], [3, 4], [5]]
    lines = b"".join([chunk async for chunk in acts_of(bench).lines()])
    assert lines.count(b"\n") == 5


async def test_a_check_finds_each_field_that_was_changed_and_each_row_that_is_missing(bench: Bench) -> None:
    for _ in range(4):
        async with ended(await begun(bench, agent_id="bot")):
            pass
    unended = await begun(bench)
    whole = await acts_of(bench).verify([KEY])
    assert (whole.acts, whole.unended, whole.flaws) == (5, 1, 0)
    changes: dict[str, Any] = {
        "act": "agent.set",
        "code": "forbidden",
        "outcome": "failed",
        "credential_id": "bob",
        "operator": "root",
        "subject": '{"agent_id":"other"}',
        "counts": '{"memories":0}',
        "begun_at": 1,
        "ended_at": 1,
        "attempts": 2,
        "channel": "console",
        "request_id": None,
    }
    (before,) = [row for row in await listed(bench) if row.number == 2]
    for field, value in changes.items():
        await set_rows(bench, _ACTS, {field: value}, number=2)
        assert (await acts_of(bench).verify([KEY])).flaws == 1, field
        old = getattr(before, field)
        await set_rows(
            bench,
            _ACTS,
            {field: '{"agent_id":"bot"}' if field == "subject" else old or {"counts": "{}"}.get(field)},
            number=2,
        )
    assert (await acts_of(bench).verify([KEY])).flaws == 0
    await delete_rows(bench, _ACTS, number=3)
    assert (await acts_of(bench).verify([KEY])).examples == ["1 rows before number 4 are missing"]
    await set_rows(bench, _ACTS, {"number": 3}, number=4)
    assert (await acts_of(bench).verify([KEY])).flaws == 2  # it is not the fourth any more, and the fifth is not next
    await unended.end()


async def test_attempts_are_counted_once_however_often_they_are_written(bench: Bench) -> None:
    late, now = LateActs("process", bench.backends.clock, lambda: KEY), bench.backends.clock
    writes = 0

    async def run_of(_: str) -> RunStatements:
        nonlocal writes
        writes += 1
        return bench.database.run

    for _ in range(3):
        late.refused("acme", "ann", "agent.erase", "forbidden", "http")
    await late.write(run_of)
    await late.write(run_of)
    assert writes == 1
    late.refused("acme", "ann", "agent.erase", "forbidden", "http")
    bench.database.error = DatabaseUnavailable("It does not answer.")
    with pytest.raises(DatabaseUnavailable):
        await late.write(run_of)
    bench.database.error = None
    await late.write(run_of)
    (row,) = await listed(bench)
    assert (row.attempts, row.outcome, row.credential_id) == (4, "refused", "ann")
    assert row.begun_at <= (row.ended_at or 0) <= now() + DAY * 1000
    assert (await acts_of(bench).verify([KEY])).flaws == 0
    await set_rows(bench, _ACTS, {"credential_id": "bob"}, number=1)
    assert (await acts_of(bench).verify([KEY])).flaws == 1


async def test_a_tenant_that_cannot_be_written_for_keeps_no_other_one_waiting(bench: Bench) -> None:
    late = LateActs("process", bench.backends.clock, lambda: KEY)
    away = True

    async def run_of(tenant: str) -> RunStatements:
        if tenant == "acme" and away:
            raise DatabaseUnavailable("It does not answer.")
        return bench.database.run

    for tenant in ("acme", "globex"):
        acting = await begun(bench, tenant)
        late.ended(tenant, acting.ended_by(None))
        late.refused(tenant, "ann", "agent.erase", "forbidden", "http")
    with pytest.raises(DatabaseUnavailable):
        await late.write(run_of)
    assert [row.outcome for row in await listed(bench)] == ["begun"]
    assert sorted(row.outcome for row in await listed(bench, "globex")) == ["done", "refused"]
    away = False
    await late.write(run_of)
    assert sorted(row.outcome for row in await listed(bench)) == ["done", "refused"]


async def test_each_day_has_rows_of_its_own(bench: Bench) -> None:
    moment = [0]
    late = LateActs("process", lambda: moment[0], lambda: KEY)

    async def run_of(_: str) -> RunStatements:
        return bench.database.run

    for day in range(3):
        moment[0] = day * DAY * 1000
        late.refused("acme", "ann", "agent.erase", "forbidden", "http")
        await late.write(run_of)
    assert [row.attempts for row in await listed(bench)] == [1, 1, 1]


async def pruned(bench: Bench, act_days: int = 400) -> int:
    limiter = RateLimiter(1e9)
    job = Prune(
        bench.database,
        audit_days=400,
        episode_days=90,
        act_days=act_days,
        rate_limiter=limiter,
        report=lambda _: None,
    )
    return (await job.run()).acts


async def numbers(bench: Bench, tenant: str = "acme") -> list[int]:
    return await column_of(bench, _ACTS, "number", by="number", tenant_id=tenant)


async def test_rows_of_every_tenant_go_once_they_are_too_old(bench: Bench) -> None:
    for tenant in ("acme", "globex", "globex", DEPLOYMENT):
        await begun(bench, tenant)
    bench.clock.later(399 * DAY)
    await begun(bench)
    assert await pruned(bench) == 0
    bench.clock.later(2 * DAY)
    assert await pruned(bench, act_days=500) == 0
    assert await pruned(bench) == 4
    assert (await numbers(bench), await numbers(bench, "globex")) == ([2], [])
    await begun(bench)
    assert await numbers(bench) == [2, 3]


async def test_what_stays_has_no_gap_where_attempts_were_written_late(bench: Bench) -> None:
    for _ in range(4):
        await begun(bench)
    now = (await listed(bench))[0].begun_at
    for number, age in ((1, 401), (2, 399), (3, 401), (4, 398)):
        await set_rows(bench, _ACTS, {"begun_at": now - age * DAY * 1000}, number=number)
    assert await pruned(bench) == 1
    assert await numbers(bench) == [2, 3, 4]


def test_of_what_an_act_names_only_what_looks_like_an_id_is_kept() -> None:
    named = {"agent_id": "bot", "name": "policies/refunds", "session_id": "what Ann said", "version": 3, "run_id": None}
    assert subject_of(named) == {"agent_id": "bot", "name": "policies/refunds", "session_id": None, "version": "3"}
    assert subject_of({"credential": "e" * 129}) == {"credential": None}
    assert len(subject_of({str(n): n for n in range(100)})) == 12


def test_counts_are_whole_numbers_and_no_moments() -> None:
    counted = {"memories": 3, "more": True, "dry_run": True, "finished_at": 1, "share": 0.5, "text": "a fox"}
    assert counts_of(counted) == {"memories": 3, "dry_run": 1}
