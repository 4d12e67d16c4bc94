"""Runs and their episodes: begun, written and ended once, however often that is asked for."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
import structlog
from ulid import ULID

from app.domain import limits
from app.domain.episodes import EpisodesWanted, NewEpisode, NewRun, RunsWanted
from app.domain.errors import Conflict, Erasing, InvalidRequest, NotFound, QuotaExceeded, RunEnded
from app.domain.memory import NewMemory
from app.domain.quotas import Use
from app.indexing.jobs import prune
from app.indexing.jobs.prune import Prune
from app.indexing.rate_limiter import RateLimiter
from app.services.tenant.writing import Added
from app.services.tiers.episodic import EpisodicMemory
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.tables import column_of, count_of, delete_rows, rows_of, set_rows, shift_rows


async def check_counts(bench: Bench) -> None:
    """Compare the counts of each tenant's runs and episodes with what there is."""
    there: dict[object, list[int]] = {}
    for place, table in enumerate(("agent_runs", "memory_episodes")):
        for tenant_id in await column_of(bench, table, "tenant_id"):
            there.setdefault(tenant_id, [0, 0])[place] += 1
    counts = await rows_of(bench, "episodic_count", "tenant_id", "runs", "episodes")
    assert {row["tenant_id"]: [row["runs"], row["episodes"]] for row in counts} == there


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


def tier(bench: Bench, tenant: str = "acme", **changed: Any) -> EpisodicMemory:
    return EpisodicMemory(with_changed(bench.backends.of_tenant(tenant, ADMINISTRATOR), **changed))


def new(agent_id: str = "bot", agent_type: str = "support", **fields: Any) -> NewRun:
    return NewRun(agent_id, agent_type, fields.pop("input", {"task": "a"}), **fields)


def happened(*contents: str, **fields: Any) -> list[NewEpisode]:
    return [NewEpisode("note", content, **fields) for content in contents]


async def begun(service: EpisodicMemory, **fields: Any) -> str:
    return (await service.begin(new(**fields))).run.id


async def contents(service: EpisodicMemory, limit: int = 100, **wanted: Any) -> list[str]:
    page = await service.episodes(EpisodesWanted(**wanted), limit=limit)
    return [episode.content for episode in page.items]


def later(bench: Bench, milliseconds: int = 1000) -> None:
    """Let time pass for what is there."""
    bench.later(milliseconds / 1000)


async def test_a_run_is_given_the_last_episodes_of_its_agent_type_newest_first_and_logs_their_ids(
    bench: Bench,
) -> None:
    service = tier(bench)
    for agent, kind in (("bot", "support"), ("other", "support"), ("third", "sales")):
        run = await begun(service, agent_id=agent, agent_type=kind)
        await service.append(run, happened(f"{agent} 1", f"{agent} 2", data={"of": agent}))
        later(bench)
    found = await service.begin(new(episodes=3, input=["any", {"json": None}]))
    assert [each.content for each in found.episodes] == ["other 2", "other 1", "bot 2"]
    assert found.episodes[0].data == {"of": "other"}
    assert found.run.episode_ids == [each.id for each in found.episodes]
    assert found.run.input == ["any", {"json": None}]
    assert (found.run.status, found.run.ended_at, found.run.output) == ("running", None, None)
    (row,) = await rows_of(bench, "agent_runs", "input", id=found.run.id)
    ids = ",".join(f'"{each}"' for each in found.run.episode_ids)
    assert row["input"] == f'{{"input":["any",{{"json":null}}],"episode_ids":[{ids}]}}'
    assert (await service.begin(new(episodes=0))).episodes == []


async def test_a_caller_for_one_agent_is_given_the_episodes_of_that_agent_alone(bench: Bench) -> None:
    service = tier(bench)
    for agent in ("bot", "other"):
        await service.append(await begun(service, agent_id=agent), happened(agent))
    found = await service.begin(new(), only_agent="bot")
    assert [each.content for each in found.episodes] == ["bot"]


async def test_the_same_run_begun_again_is_the_same_answer_and_another_of_its_id_a_conflict(bench: Bench) -> None:
    service, run_id = tier(bench), str(ULID())
    await service.append(await begun(service), happened("before"))
    first = await service.begin(new(run_id=run_id, input={"a": 1, "b": 2}))
    await service.append(run_id, happened("after"))
    assert await service.begin(new(run_id=run_id, input={"b": 2, "a": 1})) == first
    for other in (new(run_id=run_id), new("other", run_id=run_id, input={"a": 1, "b": 2})):
        with pytest.raises(Conflict):
            await service.begin(other)
    with pytest.raises(Conflict):
        await service.begin(new(run_id=run_id, agent_type="sales", input={"a": 1, "b": 2}))
    assert (await tier(bench, "globex").begin(new(run_id=run_id))).run.input == {"task": "a"}


async def test_episodes_are_written_once_by_their_ids_and_listed_newest_first(bench: Bench) -> None:
    service = tier(bench)
    run, id_ = await begun(service), str(ULID())
    named = [NewEpisode("call", "named", {"n": [1, 2.5]}, id_, 7)]
    assert await service.append(run, named) == Added(1, 0)
    later(bench)
    assert await service.append(run, [*named, *happened("one", "two", ""), *named]) == Added(3, 2)
    page = await service.episodes(EpisodesWanted(run_id=run), limit=100)
    assert [each.content for each in page.items] == ["", "two", "one", "named"]
    assert (page.items[-1].id, page.items[-1].occurred_at, page.items[-1].data) == (id_, 7, {"n": [1, 2.5]})
    assert page.items[0].occurred_at == page.items[0].created_at
    assert page.after is None


async def test_an_id_of_another_run_is_a_conflict_and_of_another_tenant_a_new_episode(bench: Bench) -> None:
    service, id_ = tier(bench), str(ULID())
    await service.append(await begun(service), happened("mine", episode_id=id_))
    with pytest.raises(Conflict):
        await service.append(await begun(service), [*happened("also"), *happened("theirs", episode_id=id_)])
    assert await contents(service) == ["mine"]
    abroad = tier(bench, "globex")
    assert await abroad.append(await begun(abroad), happened("abroad", episode_id=id_)) == Added(1, 0)
    assert await contents(service) == ["mine"]


async def test_a_run_ends_once_and_the_same_end_again_is_answered_the_same(bench: Bench) -> None:
    service = tier(bench)
    run = await begun(service)
    done = await service.complete(run, {"a": 1, "b": None})
    assert (done.status, done.output, done.error) == ("completed", {"a": 1, "b": None}, None)
    assert done.ended_at is not None
    assert await service.complete(run, {"b": None, "a": 1}) == done == await service.run(run)
    for other in (service.complete(run, {"a": True, "b": None}), service.complete(run, None), service.fail(run, "e")):
        with pytest.raises(RunEnded):
            await other
    failed = await service.fail(await begun(service), "boom")
    assert (failed.status, failed.error) == ("failed", "boom")
    assert await service.fail(failed.id, "boom") == failed
    for other in (service.fail(failed.id, "bang"), service.complete(failed.id, None)):
        with pytest.raises(RunEnded):
            await other
    nothing = await service.complete(await begun(service), None)
    assert await service.complete(nothing.id, None) == nothing


async def test_a_run_that_has_ended_takes_no_episode_but_knows_those_it_has(bench: Bench) -> None:
    service = tier(bench)
    run = await begun(service)
    known = happened("known", episode_id=str(ULID()))
    await service.append(run, known)
    await service.fail(run, "")
    assert await service.append(run, known) == Added(0, 1)
    with pytest.raises(RunEnded):
        await service.append(run, [*known, *happened("new")])
    assert await contents(service) == ["known"]


async def test_a_run_that_is_unknown_or_of_another_agent_or_tenant_is_not_found(bench: Bench) -> None:
    service = tier(bench)
    run = await begun(service, agent_id="bot")
    abroad = tier(bench, "globex")
    for caller, only, id_ in ((service, None, str(ULID())), (service, "other", run), (abroad, None, run)):
        for asked in (
            caller.run(id_, only_agent=only),
            caller.append(id_, happened("x"), only_agent=only),
            caller.complete(id_, None, only_agent=only),
            caller.fail(id_, "", only_agent=only),
        ):
            with pytest.raises(NotFound):
                await asked
    assert (await service.run(run)).status == "running"
    assert await contents(service) == await contents(abroad) == []


async def test_runs_and_episodes_are_listed_by_what_is_asked_page_by_page(bench: Bench) -> None:
    service = tier(bench)
    made = []
    for number, (agent, kind) in enumerate([("bot", "support"), ("bot", "sales"), ("other", "support")] * 2):
        made.append(await begun(service, agent_id=agent, agent_type=kind))
        await service.append(made[-1], happened(str(number)))
        later(bench)
    await service.complete(made[0], 1)
    newest = made[::-1]
    for wanted, expected in (
        ({}, newest),
        ({"agent_id": "bot"}, [made[4], made[3], made[1], made[0]]),
        ({"agent_type": "support"}, [made[5], made[3], made[2], made[0]]),
        ({"agent_id": "bot", "agent_type": "support", "status": "running"}, [made[3]]),
        ({"status": "completed"}, [made[0]]),
        ({"started_after": (await service.run(made[3])).started_at}, [made[5], made[4]]),
        ({"started_before": (await service.run(made[1])).started_at}, [made[0]]),
    ):
        found, after = [], None
        while True:
            page = await service.runs(RunsWanted(**wanted), limit=2, after=after)
            found += [run.id for run in page.items]
            if (after := page.after) is None:
                break
        assert found == expected, wanted
    assert await contents(service) == list("543210")
    assert await contents(service, agent_id="bot") == list("4310")
    assert await contents(service, agent_type="support") == list("5320")
    assert await contents(service, agent_id="bot", agent_type="sales") == list("41")
    assert await contents(service, run_id=made[2]) == ["2"]
    assert await contents(service, run_id=made[2], agent_type="support", agent_id="other") == ["2"]
    assert await contents(service, run_id=made[2], agent_id="bot") == []
    assert await contents(service, run_id=made[2], agent_type="sales") == []
    first = await service.episodes(EpisodesWanted(agent_type="support"), limit=3)
    second = await service.episodes(EpisodesWanted(agent_type="support"), limit=3, after=first.after)
    assert [each.content for each in (*first.items, *second.items)] == list("5320")


async def test_a_tenant_has_no_more_episodes_than_it_may_and_a_request_that_is_over_writes_none(bench: Bench) -> None:
    service = tier(bench, tenant_episodes=5)
    run = await begun(service)
    warned: list[Use] = []
    await service.append(run, happened("1", "2", "3"), warn=warned.extend)
    assert warned == []
    known = happened("4", episode_id=str(ULID()))
    await service.append(run, known, warn=warned.extend)
    assert warned == [Use("episodes", "tenant", 4, 5)]
    with pytest.raises(QuotaExceeded) as caught:
        await service.append(run, happened("5", "6"))
    assert caught.value.reached == "episodes;scope=tenant;used=4;limit=5"
    assert await service.append(run, [*known, *happened("5")]) == Added(1, 1)
    assert await service.append(run, known) == Added(0, 1)
    assert sorted(await contents(service)) == ["1", "2", "3", "4", "5"]  # some may be of one millisecond
    abroad = tier(bench, "globex", tenant_episodes=5)
    await abroad.append(await begun(abroad), happened("1"))


async def test_of_a_limit_that_is_near_the_operator_is_told_once_a_day(bench: Bench) -> None:
    counted: list[bool] = []
    service = tier(bench, tenant_episodes=5, episodes_near_limit=lambda: counted.append(True))
    run = await begun(service)
    known = happened("1", "2", "3", "4")
    with structlog.testing.capture_logs() as logs:
        await asyncio.gather(*(service.append(run, [each]) for each in known))
        await service.append(run, happened("5"))
        assert [(line["event"], line["limit"]) for line in logs] == [("episodes_near_limit", 5)]
        await shift_rows(bench, "episodic_count", {"warned_day": -1})
        await service.complete(run, None)
        again = await begun(service)
        await delete_rows(bench, "memory_episodes", content="5")
        await service.append(again, happened("6"))
    assert len(counted) == len(logs) == 2


async def test_a_hundred_writes_at_once_lose_none_and_never_exceed_the_limit(bench: Bench) -> None:
    service = tier(bench, tenant_episodes=100)
    runs = [await begun(service) for _ in range(2)]
    await asyncio.gather(*(service.append(runs[n % 2], happened(str(n))) for n in range(100)))
    assert sorted(await contents(service), key=int) == [str(n) for n in range(100)]
    limited = tier(bench, "globex", tenant_episodes=50)
    run = await begun(limited)
    results = await asyncio.gather(
        *(limited.append(run, happened(str(n), str(n))) for n in range(100)), return_exceptions=True
    )

    assert sum(isinstance(each, Added) for each in results) == 25
    assert sum(isinstance(each, QuotaExceeded) for each in results) == 75
    assert len(await contents(limited)) == 50
    await check_counts(bench)


async def test_a_tenant_has_no_more_runs_than_may_be_kept(bench: Bench) -> None:
    service, run_id = tier(bench), str(ULID())
    await service.begin(new(run_id=run_id))
    await set_rows(bench, "episodic_count", {"runs": 100000})
    await service.begin(new(run_id=run_id))
    with pytest.raises(QuotaExceeded) as caught:
        await service.begin(new())
    assert caught.value.reached.startswith("runs;scope=tenant;")


@pytest.mark.parametrize("bound", [True, False])
async def test_nothing_is_written_for_an_agent_that_is_being_erased(bench: Bench, *, bound: bool) -> None:
    service = tier(bench)
    run, other = await begun(service), await begun(service, agent_id="other")
    await bench.gateway.store("bot", NewMemory("text"))  # without a memory an erasure ends at once
    await bench.gateway.erase("bot")
    only = "bot" if bound else None
    results = await asyncio.gather(
        service.begin(new(), only_agent=only),
        service.append(run, happened("x"), only_agent=only),
        service.complete(run, None, only_agent=only),
        service.fail(run, "", only_agent=only),
        return_exceptions=True,
    )
    assert [type(each) for each in results] == [Erasing] * 4
    assert await service.append(other, happened("x")) == Added(1, 0)


async def test_a_field_that_is_over_its_bounds_is_named(bench: Bench) -> None:
    service = tier(bench)
    for field, make in (
        ("input", lambda: new(input="x" * limits.RUN_VALUE_BYTES)),
        ("input", lambda: new(input={"a": [float("nan")]})),
        ("input", lambda: new(input="nul \0")),
        ("agent_type", lambda: new(agent_type="a b")),
        ("run_id", lambda: new(run_id="1")),
        ("episodes", lambda: new(episodes=51)),
        ("type", lambda: NewEpisode("", "x")),
        ("content", lambda: NewEpisode("x", "ä" * (16 * 1024 + 1))),
        ("data", lambda: NewEpisode("x", "x", {"a": "x" * 10 * 1024})),
        ("episode_id", lambda: NewEpisode("x", "x", episode_id="1")),
    ):
        with pytest.raises(InvalidRequest) as caught:
            make()
        assert [error.field for error in caught.value.errors] == [field]
    for field, asked in (
        ("episodes", service.append(str(ULID()), [])),
        ("episodes", service.append(str(ULID()), happened("x") * 101)),
        ("output", service.complete(str(ULID()), "\ud800")),
        ("error", service.fail(str(ULID()), "x" * 4097)),
        ("run_id", service.run("1")),
    ):
        with pytest.raises(InvalidRequest) as caught:
            await asked
        assert [error.field for error in caught.value.errors] == [field]


def test_any_json_may_be_sixteen_deep_and_no_deeper() -> None:
    value: Any = 1
    for _ in range(16):
        value = [value]
    new(input=value)
    with pytest.raises(InvalidRequest, match="deeper than 16"):
        new(input=[value])


async def test_prune_deletes_old_episodes_and_runs_of_all_tenants_in_calls_of_few_rows(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = 24 * 3600 * 1000
    for tenant in ("acme", "globex"):
        service = tier(bench, tenant)
        ended, _given_up, old = [await begun(service) for _ in range(3)]
        await service.append(ended, happened(*"12345"))
        await service.append(old, happened("old"))
        await service.complete(ended, None)
        later(bench, 91 * day)
    service = tier(bench, "globex")
    young = [await begun(service) for _ in range(2)]
    await service.append(young[0], happened("young"))
    await service.append(old, happened("still going on"))
    await service.complete(old, None)
    told: list[int] = []
    monkeypatch.setattr(prune, "MAX_CHUNK", 2)
    done = await pruned(bench, told)
    assert (done.episodes, done.runs) == (12, 5)
    deleted = [after - before for before, after in zip([0, *told], told, strict=False)]
    assert (max(deleted), sum(deleted)) == (2, sum(astuple(done)))
    assert {run.id for run in (await service.runs(RunsWanted(), limit=100)).items} == {old, *young}
    assert sorted(await contents(service)) == ["still going on", "young"]  # their ids may be of one millisecond
    assert await contents(tier(bench)) == []
    await check_counts(bench)
    assert (await pruned(bench, [])).episodes == 0


async def test_a_prune_that_stops_is_finished_by_the_next_and_no_call_deletes_more_than_its_share(
    bench: Bench,
) -> None:
    service = tier(bench)
    run = await begun(service)
    for _ in range(13):
        await service.append(run, happened(*(["x"] * 100)))
    later(bench, 91 * 24 * 3600 * 1000)

    def stop(deleted: int) -> None:
        if deleted >= 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Prune(bench.database, audit_days=400, episode_days=90, rate_limiter=RateLimiter(1e9), report=stop).run()
    assert await count_of(bench, "memory_episodes") == 300
    told: list[int] = []
    assert (await pruned(bench, told)).episodes == 300
    assert told == [300, 301, 302, 303, 304]  # the run, and what it had left in working memory
    assert prune.MAX_CHUNK == 500


async def pruned(bench: Bench, told: list[int]) -> prune.Pruned:
    job = Prune(bench.database, audit_days=400, episode_days=90, rate_limiter=RateLimiter(1e9), report=told.append)
    return await job.run()


async def test_what_is_as_large_as_may_be_is_kept_whole(bench: Bench) -> None:
    service = tier(bench)
    most = "ä" * (16 * 1024 - 1)  # with its quotation marks 32 KiB as JSON
    run = await begun(service)
    for _ in range(10):  # as many as fit into a request, about
        await service.append(run, [NewEpisode("n" * 64, "ä" * 16 * 1024, {"a": "x" * (10 * 1024 - 8)})] * 5)
    large = await service.begin(new(input=most, episodes=50))
    assert (large.run.input, len(large.episodes), large.episodes[0].content) == (most, 50, "ä" * 16 * 1024)
    assert (await service.complete(run, most)).output == most
    assert (await service.fail(large.run.id, "x" * 4096)).error == "x" * 4096
