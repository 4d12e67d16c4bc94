"""Working memory: keys that live for a while, compare-and-set, a budget, and the state and the log of runs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.domain import limits
from app.domain.errors import (
    ContentTooLarge,
    Erasing,
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    QuotaExceeded,
    Unauthenticated,
)
from app.domain.preconditions import Precondition
from app.indexing.jobs.prune import Prune
from app.indexing.rate_limiter import RateLimiter
from app.services.tiers.working import WorkingMemory, WorkingWrite
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.scopes import revoke
from tests.support.tables import column_of, delete_rows, insert_rows, rows_of

RUN = "01K2Z7A1B2C3D4E5F6G7H8J9KM"
OTHER_RUN = "01K2Z7A1B2C3D4E5F6G7H8J9KN"
ANY, ABSENT = Precondition(["*"]), Precondition(absent=True)


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        await begin(bench)
        yield bench


async def begin(bench: Bench) -> None:
    """Have two runs, of two agents."""
    for run, agent in ((RUN, "bot"), (OTHER_RUN, "other")):
        await insert_rows(
            bench,
            "agent_runs",
            {
                "tenant_id": "acme",
                "id": run,
                "agent_id": agent,
                "agent_type": "type",
                "status": "running",
                "input": "{}",
                "started_at": 1,
            },
        )


def working(bench: Bench, tenant: str = "acme") -> WorkingMemory:
    return WorkingMemory(bench.backends.of_tenant(tenant, ADMINISTRATOR))


async def put(
    bench: Bench, key: str, value: Any = 1, *, ttl: int = 3600, only: Precondition | None = None, instance: str = "i"
) -> WorkingWrite:
    only = only or Precondition()
    return await working(bench).set("bot", instance, key, value, ttl_seconds=ttl, only=only)


def at(written: WorkingWrite) -> Precondition:
    return Precondition([str(written.value.version)])


async def held(bench: Bench, instance: str = "i") -> dict[str, Any]:
    return {each.key: each.value for each in (await working(bench).list("bot", instance)).keys}


@pytest.mark.parametrize("value", [None, True, 0, -1.5, "", "åäö 🦊", [], {}, {"a": [1, {"b": None}]}])
async def test_what_was_set_is_read_at_once(bench: Bench, value: Any) -> None:
    written = await put(bench, "k", value)
    assert (written.created, written.value.value) == (True, value)
    assert await working(bench).get("bot", "i", "k") == written.value
    again = await put(bench, "k", "other")
    assert (again.created, again.value.version > written.value.version) == (False, True)
    assert await held(bench) == {"k": "other"}


async def test_a_key_is_of_one_instance_of_one_agent_of_one_tenant(bench: Bench) -> None:
    await put(bench, "k")
    for tenant, agent, instance in (("globex", "bot", "i"), ("acme", "other", "i"), ("acme", "bot", "j")):
        with pytest.raises(NotFound):
            await working(bench, tenant).get(agent, instance, "k")
        assert (await working(bench, tenant).list(agent, instance)).keys == []


async def test_an_expired_key_is_never_seen_and_its_etag_never_comes_back(bench: Bench) -> None:
    written = await put(bench, "k", ttl=60)
    await put(bench, "longer", ttl=600)
    bench.later(61)
    with pytest.raises(NotFound):
        await working(bench).get("bot", "i", "k")
    assert await held(bench) == {"longer": 1}
    with pytest.raises(PreconditionFailed):
        await put(bench, "k", only=at(written))
    with pytest.raises(PreconditionFailed):
        await put(bench, "k", only=ANY)
    again = await put(bench, "k", only=ABSENT)
    assert again.created
    assert again.value.version > written.value.version


async def test_versions_rise_through_deletion_within_a_millisecond(bench: Bench) -> None:
    versions = []
    for _ in range(20):
        versions.append((await put(bench, "k")).value.version)
        await working(bench).delete("bot", "i", "k", Precondition())
    assert sorted(set(versions)) == versions


async def test_a_condition_that_does_not_hold_changes_nothing(bench: Bench) -> None:
    first = await put(bench, "k", 1)
    second = await put(bench, "k", 2, only=at(first))
    for only in (at(first), ABSENT, Precondition([]), Precondition(["nonsense"])):
        with pytest.raises(PreconditionFailed):
            await put(bench, "k", 3, only=only)
        with pytest.raises(PreconditionFailed):
            await working(bench).delete("bot", "i", "k", only)
    assert await working(bench).get("bot", "i", "k") == second.value
    await working(bench).delete("bot", "i", "k", at(second))
    for only in (at(second), ANY):
        with pytest.raises(PreconditionFailed):
            await working(bench).delete("bot", "i", "k", only)
    await working(bench).delete("bot", "i", "k", Precondition())
    await working(bench).delete("bot", "i", "k", ABSENT)
    assert await held(bench) == {}


async def test_no_increment_is_lost_by_writers_at_once(bench: Bench) -> None:
    await put(bench, "n", 0)

    async def increment() -> None:
        while True:
            seen = await working(bench).get("bot", "i", "n")
            assert isinstance(seen.value, int)
            try:
                await put(bench, "n", seen.value + 1, only=Precondition([str(seen.version)]))
            except PreconditionFailed:
                continue
            return

    await asyncio.gather(*(increment() for _ in range(12)))
    assert await held(bench) == {"n": 12}


async def test_writers_at_once_never_pass_the_budget(bench: Bench) -> None:
    value = "x" * 3000
    refused: list[ContentTooLarge] = []

    async def one(number: int) -> bool:
        try:
            await put(bench, f"k{number}", value)
        except ContentTooLarge as error:
            refused.append(error)
            return False
        return True

    fitted = await asyncio.gather(*map(one, range(100)))
    assert {each.field for error in refused for each in error.errors} == {"value"}
    assert all(str(limits.WORKING_BYTES) in error.detail for error in refused)
    contents = await working(bench).list("bot", "i")
    assert len(contents.keys) == sum(fitted) == limits.WORKING_BYTES // (3002 + 3)
    assert contents.used_bytes == sum(each.bytes for each in contents.keys) <= limits.WORKING_BYTES


async def test_a_value_that_is_replaced_or_expired_counts_no_more(bench: Bench) -> None:
    large = "x" * (limits.WORKING_BYTES - 10)
    await put(bench, "k", large, ttl=60)
    await put(bench, "k", large[1:], ttl=60)
    with pytest.raises(ContentTooLarge):
        await put(bench, "l", "xxxxxxxxxx")
    bench.later(61)
    await put(bench, "l", large)
    with pytest.raises(ContentTooLarge) as caught:
        await put(bench, "l", "ä" * (limits.WORKING_BYTES // 2))
    assert [each.field for each in caught.value.errors] == ["value"]


async def test_an_instance_has_so_many_keys_and_a_tenant_so_many_instances(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WORKING_KEYS", 2)
    monkeypatch.setattr(limits, "MAX_WORKING_INSTANCES", 2)
    await put(bench, "a", ttl=60)
    await put(bench, "b")
    await put(bench, "b", 2)
    with pytest.raises(QuotaExceeded, match="2 keys"):
        await put(bench, "c")
    await put(bench, "a", instance="j", ttl=60)
    with pytest.raises(QuotaExceeded) as caught:
        await put(bench, "a", instance="k")
    assert caught.value.reached == "working_instances;scope=tenant;used=2;limit=2"
    with pytest.raises(QuotaExceeded):
        await working(bench).append_log(RUN, [{}], ttl_seconds=60, only_agent=None)
    bench.later(61)
    await put(bench, "c")
    await put(bench, "a", instance="k")


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (float("nan"), "number"),
        (float("inf"), "number"),
        ({"a": [float("-inf")]}, "number"),
        (2**63, "number"),
        ("a\0b", "NUL"),
        ({"\0": 1}, "NUL"),
        (["\ud800"], "surrogate"),
    ],
)
async def test_a_value_that_is_no_json_is_refused_by_name(bench: Bench, value: Any, wrong: str) -> None:
    with pytest.raises(InvalidRequest, match=wrong) as caught:
        await put(bench, "k", value)
    assert [each.field for each in caught.value.errors] == ["value"]


async def test_a_value_is_nested_so_deep_and_no_deeper(bench: Bench) -> None:
    value: Any = []
    for _ in range(limits.JSON_DEPTH - 1):
        value = [value]
    await put(bench, "k", value)
    with pytest.raises(InvalidRequest, match="deeper than 16"):
        await put(bench, "k", [value])


async def test_names_and_times_outside_their_bounds_are_refused(bench: Bench) -> None:
    for key in ("", "a/b", "x" * 129, "window", "messages", "/state"):
        with pytest.raises(InvalidRequest) as caught:
            await put(bench, key)
        assert [each.field for each in caught.value.errors] == ["key"]
    await put(bench, "x" * 128)
    for ttl in (59, 86_401):
        with pytest.raises(InvalidRequest) as caught:
            await put(bench, "k", ttl=ttl)
        assert [each.field for each in caught.value.errors] == ["ttl_seconds"]


async def test_nothing_is_written_while_the_agent_is_erased_or_by_a_revoked_credential(bench: Bench) -> None:
    await bench.gateway.erase("bot")
    for call in (
        put(bench, "k"),
        working(bench).delete("bot", "i", "k", Precondition()),
        working(bench).append_log(RUN, [{}], ttl_seconds=60, only_agent=None),
    ):
        with pytest.raises(Erasing):
            await call
    await delete_rows(bench, "erasure")
    await revoke(bench.backends)
    with pytest.raises(Unauthenticated):
        await put(bench, "k")


async def test_a_run_has_a_state_that_counts_in_the_budget_of_its_instance(bench: Bench) -> None:
    memory = working(bench)
    with pytest.raises(NotFound, match="no state"):
        await memory.state(RUN, only_agent="bot")
    first = await memory.set_state(RUN, {"turn": 1}, ttl_seconds=60, only=ABSENT, only_agent="bot")
    second = await memory.set_state(RUN, {"turn": 2}, ttl_seconds=60, only=at(first), only_agent=None)
    assert (first.created, second.created) == (True, False)
    with pytest.raises(PreconditionFailed):
        await memory.set_state(RUN, {"turn": 3}, ttl_seconds=60, only=at(first), only_agent="bot")
    assert await memory.state(RUN, only_agent=None) == second.value
    contents = await memory.list("bot", RUN)
    assert (contents.keys, contents.used_bytes) == ([], second.value.bytes)
    with pytest.raises(ContentTooLarge):
        await put(bench, "k", "x" * (limits.WORKING_BYTES - 10), instance=RUN)
    bench.later(61)
    with pytest.raises(NotFound, match="no state"):
        await memory.state(RUN, only_agent="bot")


async def test_a_log_is_read_page_by_page_until_it_expires(bench: Bench) -> None:
    memory = working(bench)
    for number in range(3):
        await memory.append_log(RUN, [{"n": 2 * number}, {"n": 2 * number + 1}], ttl_seconds=60, only_agent="bot")
    seen: list[Any] = []
    after: int | None = 0
    while after is not None:
        page = await memory.log(RUN, limit=4, after=after, only_agent="bot")
        seen, after = [*seen, *page.entries], page.after
    assert [each.entry["n"] for each in seen] == [*range(6)]
    bench.later(61)
    assert (await memory.log(RUN, limit=4, after=0, only_agent="bot")).entries == []
    last = await memory.append_log(RUN, [{"n": 6}], ttl_seconds=60, only_agent="bot")
    assert last.last > seen[-1].number


async def test_a_log_that_is_full_takes_nothing_more(bench: Bench) -> None:
    memory, entry = working(bench), {"a": "x" * 100_000}
    for _ in range(10):
        await memory.append_log(RUN, [entry], ttl_seconds=60, only_agent=None)
    with pytest.raises(ContentTooLarge) as caught:
        await memory.append_log(RUN, [entry], ttl_seconds=60, only_agent=None)
    assert [each.field for each in caught.value.errors] == ["entries"]
    assert len((await working(bench).log(RUN, limit=100, after=0, only_agent=None)).entries) == 10


async def test_a_run_of_nobody_or_of_another_agent_or_tenant_is_not_found(bench: Bench) -> None:
    unknown = "01K2Z7A1B2C3D4E5F6G7H8J9KP"
    for tenant, run, agent in (("acme", unknown, None), ("acme", OTHER_RUN, "bot"), ("globex", RUN, None)):
        memory = working(bench, tenant)
        for call in (
            memory.set_state(run, 1, ttl_seconds=60, only=Precondition(), only_agent=agent),
            memory.state(run, only_agent=agent),
            memory.append_log(run, [{}], ttl_seconds=60, only_agent=agent),
            memory.log(run, limit=1, after=0, only_agent=agent),
        ):
            with pytest.raises(NotFound, match="no such run"):
                await call


async def test_prune_deletes_what_has_expired_and_an_instance_a_day_later(bench: Bench) -> None:
    await put(bench, "short", ttl=60)
    await put(bench, "long", ttl=86_400)
    await put(bench, "k", ttl=60, instance="j")
    await working(bench).append_log(RUN, [{}, {}], ttl_seconds=60, only_agent=None)
    bench.later(61)

    async def pruned() -> int:
        job = Prune(
            bench.database, audit_days=400, episode_days=90, rate_limiter=RateLimiter(1e9), report=lambda _: None
        )
        return (await job.run()).working

    assert await pruned() == 4
    assert await held(bench) == {"long": 1}
    assert len(await rows_of(bench, "working_instance")) == 3
    bench.later(86_400)
    assert await pruned() == 3
    assert await column_of(bench, "working_instance", "instance") == ["i"]
