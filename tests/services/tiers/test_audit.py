"""The trail of a run: what was sent is what its replay tells, in order, however it was sent."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ulid import ULID

from app.domain.audit import AuditFilter, LoggedCall, Step, ToolCall, canonical_json, sha256_of
from app.domain.episodes import Episode, NewEpisode, Run
from app.domain.errors import (
    Erasing,
    InvalidRequest,
    NotFound,
    QuotaExceeded,
    RunEnded,
    Unauthenticated,
    UpstreamTimeout,
)
from app.domain.json_types import to_json
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.indexing.jobs.prune import Prune, Pruned
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Statement
from app.runtime.recall_log import write_recalls
from app.services.tenant.writing import Added
from app.services.tiers.audit import Auditor, Replay
from app.services.tiers.episodic import EpisodicMemory
from app.storage.listing import ListPosition
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.generation import examples
from tests.support.scopes import revoke
from tests.support.tables import insert_rows, rows_of, set_rows, shift_rows

RUN, OTHER = "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "01K2Z4M1V7Q8T3B5N6C7D8E9FB"
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


def auditor(bench: Bench, tenant: str = "acme") -> Auditor:
    return Auditor(bench.backends.of_tenant(tenant, ADMINISTRATOR))


async def begin(bench: Bench, run: str = RUN, *, tenant: str = "acme", agent: str = "bot") -> None:
    whose = {"tenant_id": tenant, "agent_id": agent, "agent_type": "t"}
    of = {"id": run, "status": "running", "input": '{"input":{"a":[1]},"episode_ids":["e"]}', "started_at": 1}
    await insert_rows(bench, "agent_runs", whose | of)


async def end(bench: Bench) -> None:
    await set_rows(bench, "agent_runs", {"status": "failed", "error": "no", "ended_at": 5}, id=RUN)


def call(number: int = 0, **fields: Any) -> ToolCall:
    text = canonical_json(fields.pop("input", {"number": number}))
    return ToolCall(str(ULID()), f"tool {number}", text, sha256_of(text), "ok", "1.5", **fields)


async def replayed(bench: Bench, limit: int = 100, **who: Any) -> list[Step]:
    steps: list[Step] = []
    after: ListPosition | None = None
    while True:
        page = await auditor(bench).replay(RUN, limit=limit, after=after, **who)
        assert len(page.steps) <= limit
        steps += page.steps
        if page.after is None:
            return steps
        after = page.after


def calls_of(steps: list[Step]) -> list[LoggedCall]:
    return [step.what for step in steps if isinstance(step.what, LoggedCall)]


def as_sent(logged: LoggedCall) -> ToolCall:
    fields = {name: getattr(logged, name) for name in ToolCall.__dataclass_fields__}
    return ToolCall(**fields)


async def test_a_replay_begins_and_ends_with_the_run_and_has_its_calls_between(bench: Bench) -> None:
    await begin(bench)
    sent = [call(n, tokens=n, error=None if n else "e", called_at=9 - n) for n in range(3)]
    assert await auditor(bench).record(RUN, sent[:2]) == Added(2, 0)
    assert await auditor(bench).record(RUN, sent) == Added(1, 2)
    await end(bench)
    for limit in (1, 2, 3, 4, 5, 100):
        steps = await replayed(bench, limit)
        assert [step.kind for step in steps] == ["started", "tool_call", "tool_call", "tool_call", "ended"]
        assert [as_sent(each) for each in calls_of(steps)] == sent
        assert [each.number for each in calls_of(steps)] == [1, 2, 3]
        run = steps[0].what
        assert isinstance(run, Run)
        assert (run.input, list(run.episode_ids), run.error, steps[-1].at) == ({"a": [1]}, ["e"], "no", 5)


async def happened(bench: Bench, *contents: str) -> None:
    episodic = EpisodicMemory(bench.backends.of_tenant("acme", ADMINISTRATOR))
    await episodic.append(RUN, [NewEpisode("note", content, {"is": content}) for content in contents])


async def recalled(bench: Bench) -> None:
    await bench.gateway.recall("bot", Query("text"), run_id=RUN)
    await write_recalls(bench.backends)


async def pages(bench: Bench, limit: int, **who: Any) -> list[Replay]:
    made = [await auditor(bench).replay(RUN, limit=limit, **who)]
    while made[-1].after is not None:
        made.append(await auditor(bench).replay(RUN, limit=limit, after=made[-1].after, **who))
    return made


async def test_episodes_stand_beside_calls_and_recalls_in_the_order_of_time_on_pages_of_any_size(bench: Bench) -> None:
    await begin(bench)
    await auditor(bench).record(RUN, [call(0)])
    await asyncio.sleep(0.005)
    await happened(bench, "first", "second")
    await asyncio.sleep(0.005)
    await recalled(bench)
    await asyncio.sleep(0.005)
    await auditor(bench).record(RUN, [call(1)])
    await EpisodicMemory(bench.backends.of_tenant("acme", ADMINISTRATOR)).complete(RUN, None)
    whole = await replayed(bench)
    assert [step.kind for step in whole] == [
        *("started", "tool_call", "episode", "episode", "recall", "tool_call", "ended"),
    ]
    told = [step.what for step in whole if isinstance(step.what, Episode)]
    assert [(each.content, each.data, each.agent_id) for each in told] == [
        ("first", {"is": "first"}, "bot"),
        ("second", {"is": "second"}, "bot"),
    ]
    for limit in range(1, 9):
        assert await replayed(bench, limit) == whole
        assert await replayed(bench, limit, only_agent="bot") == whole


async def test_the_pages_of_an_ended_run_stay_the_same_whatever_is_written_afterwards(bench: Bench) -> None:
    await begin(bench)
    await auditor(bench).record(RUN, [call(n) for n in range(2)])
    await happened(bench, "one", "two")
    await recalled(bench)
    await asyncio.sleep(0.005)
    await EpisodicMemory(bench.backends.of_tenant("acme", ADMINISTRATOR)).complete(RUN, None)
    before = {limit: await pages(bench, limit) for limit in range(1, 9)}
    assert len(before[8][0].steps) == 7
    late = call(7)
    assert await auditor(bench).record(RUN, [late]) == Added(1, 0)
    assert await auditor(bench).record(RUN, [late]) == Added(0, 1)
    with pytest.raises(RunEnded):
        await happened(bench, "late")
    await asyncio.sleep(0.005)
    await recalled(bench)
    assert {limit: await pages(bench, limit) for limit in range(1, 9)} == before
    events = await listed(bench, AuditFilter(run_id=RUN))
    assert sorted(each.event for each in events) == ["recall", "recall", "tool_call", "tool_call", "tool_call"]
    assert [each.detail["after_end"] for each in events if each.event == "tool_call"] == [True, False, False]


async def test_a_call_that_the_clock_puts_behind_the_end_is_still_in_the_replay(bench: Bench) -> None:
    await begin(bench)
    await auditor(bench).record(RUN, [call()])
    await shift_rows(bench, "tool_call_log", {"recorded_at": DAY_MS})
    await end(bench)
    assert [step.kind for step in await replayed(bench)] == ["started", "tool_call", "ended"]


@settings(deadline=None, max_examples=examples(40))
@given(
    rows=st.lists(st.tuples(st.sampled_from("ert"), st.integers(1, 3)), max_size=12),
    limit=st.integers(1, 5),
    ended=st.booleans(),
)
def test_pages_of_a_replay_lose_no_step_and_give_none_twice_though_all_are_of_one_moment(
    rows: list[tuple[str, int]], limit: int, *, ended: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whose = {"tenant_id": "acme", "run_id": RUN, "agent_id": "bot"}
    episode = {"agent_type": "t", "type": "note", "content": "c", "data": "{}", "occurred_at": 0}
    tool_call = {"tool": "t", "input_hash": f"{0:064d}", "outcome": "ok", "ms": "1"}

    async def insert(made: Bench, kind: str, at: int, number: int) -> None:
        own = whose | {"id": f"{number:026d}"}
        if kind == "t":
            await insert_rows(made, "tool_call_log", own | tool_call | {"recorded_at": at, "number": number})
        elif kind == "e":
            await insert_rows(made, "memory_episodes", own | episode | {"created_at": at})
        else:
            await insert_rows(made, "recall_log", own | {"event": "recall", "detail": "{}", "recorded_at": at})

    async def run() -> None:
        async with bench_on(tmp_path_factory.mktemp("pages")) as made:
            await begin(made)
            # Calls are numbered as they arrive, and their times never go back.
            arranged = sorted(rows, key=lambda row: row[1])
            for number, (kind, at) in enumerate(arranged, 1):
                await insert(made, kind, at, number)
            if ended:
                await set_rows(made, "agent_runs", {"status": "completed", "ended_at": 9}, id=RUN)
            steps = (await replayed(made, limit, only_agent="bot"))[1 : -1 if ended else None]
            wanted = sorted((at, kind, f"{number:026d}") for number, (kind, at) in enumerate(arranged, 1))
            letters = {"tool_call": "t", "episode": "e", "recall": "r"}
            assert [(step.at, letters[step.kind], step.what.id) for step in steps] == wanted

    asyncio.run(run())


async def test_a_run_that_is_unknown_or_another_s_is_not_there(bench: Bench) -> None:
    await begin(bench)
    for tenant, run, agent in (("acme", OTHER, None), ("globex", RUN, None), ("acme", RUN, "other")):
        with pytest.raises(NotFound):
            await auditor(bench, tenant).record(run, [call()], only_agent=agent)
        with pytest.raises(NotFound):
            await auditor(bench, tenant).replay(run, limit=9, only_agent=agent)
    assert await rows_of(bench, "tool_call_log") == []
    assert await auditor(bench).record(RUN, [call()], only_agent="bot") == Added(1, 0)


async def test_a_known_call_stays_as_it_was_and_another_run_may_have_its_id(bench: Bench) -> None:
    await begin(bench)
    await begin(bench, OTHER)
    first = call(1)
    await auditor(bench).record(RUN, [first])
    assert await auditor(bench).record(RUN, [replace(first, tool="another")]) == Added(0, 1)
    assert await auditor(bench).record(OTHER, [replace(first, tool="another")]) == Added(1, 0)
    assert [as_sent(each) for each in calls_of(await replayed(bench))] == [first]


async def test_two_calls_of_one_id_in_a_request_are_refused_by_name(bench: Bench) -> None:
    await begin(bench)
    one = call()
    with pytest.raises(InvalidRequest) as caught:
        await auditor(bench).record(RUN, [one, call(), one])
    assert [error.field for error in caught.value.errors] == ["calls.2.call_id"]


async def test_a_run_has_ten_thousand_calls_and_a_request_that_goes_beyond_keeps_none(bench: Bench) -> None:
    await begin(bench)
    await auditor(bench).record(RUN, [call()])
    await set_rows(bench, "tool_call_log", {"number": 9999})
    with pytest.raises(QuotaExceeded) as caught:
        await auditor(bench).record(RUN, [call(), call()])
    assert caught.value.reached == "tool_calls;scope=tenant;used=1;limit=10000"
    assert await auditor(bench).record(RUN, [call()]) == Added(1, 0)
    assert len(calls_of(await replayed(bench))) == 2


async def test_nothing_is_kept_of_an_agent_that_is_being_erased_or_by_who_was_revoked(bench: Bench) -> None:
    await begin(bench)
    await bench.gateway.store("bot", NewMemory("text"))
    await bench.gateway.erase("bot")
    with pytest.raises(Erasing):
        await auditor(bench).record(RUN, [call()])
    await begin(bench, OTHER, agent="another")
    assert await auditor(bench).record(OTHER, [call()]) == Added(1, 0)
    await revoke(bench.backends)
    with pytest.raises(Unauthenticated):
        await auditor(bench).record(OTHER, [call()])


async def test_a_hundred_requests_at_once_lose_no_call_and_share_no_number(bench: Bench) -> None:
    await begin(bench)
    sent = [[call(n), call(n)] for n in range(100)]
    done = await asyncio.gather(*(auditor(bench).record(RUN, each) for each in sent))
    assert done == [Added(2, 0)] * 100
    kept = calls_of(await replayed(bench))
    assert [each.number for each in kept] == list(range(1, 201))
    order = {each.id: each.number for each in kept}
    assert all(order[first.id] + 1 == order[second.id] for first, second in sent)


async def test_calls_stand_in_the_order_of_their_arrival_though_the_clock_goes_back(bench: Bench) -> None:
    await begin(bench)
    sent = [call(n) for n in range(3)]
    await auditor(bench).record(RUN, sent[:2])
    await shift_rows(bench, "tool_call_log", {"recorded_at": DAY_MS}, number=2)
    await auditor(bench).record(RUN, sent[2:])
    assert [as_sent(each) for each in calls_of(await replayed(bench, 1))] == sent


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=-9e18, max_value=9e18)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@st.composite
def tool_calls(draw: st.DrawFn) -> ToolCall:
    text = canonical_json(draw(json_values))
    output = draw(st.none() | json_values.map(canonical_json))
    return ToolCall(
        id=str(ULID()),
        tool=draw(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=64)),
        input=draw(st.sampled_from([text, None])),
        input_hash=sha256_of(text),
        outcome=draw(st.sampled_from(["ok", "error"])),
        ms=to_json(draw(st.integers(0, 2**63 - 1) | st.floats(0, 9e18))),
        error=draw(st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=99)),
        output=output,
        tokens=draw(st.none() | st.integers(0, 2**63 - 1)),
        called_at=draw(st.none() | st.integers(-(2**40), 2**45)),
    )


@settings(deadline=None, max_examples=examples(60))
@given(
    batches=st.lists(
        st.tuples(st.lists(tool_calls(), min_size=1, max_size=5), st.sampled_from(["ok", "lost", "twice", "again"])),
        max_size=5,
    ),
    limit=st.integers(1, 4),
)
def test_what_was_sent_is_replayed_to_the_byte_in_its_order_whatever_was_lost_and_sent_again(
    batches: list[tuple[list[ToolCall], str]], limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def run() -> None:
        async with bench_on(tmp_path_factory.mktemp("law")) as made:
            await begin(made)
            sent: list[ToolCall] = []
            for batch, fate in batches:
                if fate == "lost":  # the run was made, and its answer did not come
                    with pytest.MonkeyPatch.context() as patch:
                        patch.setattr(made.database, "run", losing(made.database.run))
                        with pytest.raises(UpstreamTimeout):
                            await auditor(made).record(RUN, batch)
                # What was sent before may come once more, beside what is new.
                given_ = [*(sent[:1] if fate == "again" else []), *batch]
                first = await auditor(made).record(RUN, given_)
                assert first.written + first.known == len(given_)
                if fate == "twice":
                    assert await auditor(made).record(RUN, batch) == Added(0, len(batch))
                sent += batch
            assert [as_sent(each) for each in calls_of(await replayed(made, limit))] == sent
            for logged in calls_of(await replayed(made)):
                for text in (logged.input, logged.output):
                    assert text is None or canonical_json(json.loads(text)) == text

    asyncio.run(run())


def losing(run: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def lost(statements: Sequence[Statement]) -> None:
        await run(statements)
        raise UpstreamTimeout("No answer.")

    return lost


async def test_the_audit_lists_everything_newest_first_by_each_filter_and_page_by_page(bench: Bench) -> None:
    memory = await bench.gateway.store("bot", NewMemory("text"))
    await bench.gateway.store("other", NewMemory("text"))
    await begin(bench)
    await auditor(bench).record(RUN, [call(n) for n in range(3)])
    await bench.gateway.delete("bot", memory)
    await bench.tenant("globex").store("bot", NewMemory("theirs"))
    everything = await listed(bench, AuditFilter())
    assert [each.event for each in everything].count("tool_call") == 3
    assert sorted(each.event for each in everything) == ["deleted", "stored", "stored", *["tool_call"] * 3]
    assert [each.at for each in everything] == sorted((each.at for each in everything), reverse=True)
    for limit in (1, 2, 5):
        assert await listed(bench, AuditFilter(), limit) == everything
    middle = everything[2].at
    filters: dict[str, list[Any]] = {
        "agent_id": ["bot", "other", "nobody"],
        "event": ["stored", "deleted", "tool_call", "recall", "recalls_dropped", "erased"],
        "memory_id": [memory, RUN],
        "run_id": [RUN, OTHER],
        "written_by": ["administrator", "nobody"],
    }
    asked = [{name: value} for name, values in filters.items() for value in values]
    asked += [one | other for one, other in zip(asked, asked[3:] + asked[:3], strict=True)]
    for where in asked:
        wanted = [each for each in everything if all(getattr(each, name) == value for name, value in where.items())]
        assert await listed(bench, AuditFilter(**where), 2) == wanted, where
    assert await listed(bench, AuditFilter(after=middle)) == [each for each in everything if each.at > middle]
    assert await listed(bench, AuditFilter(before=middle)) == [each for each in everything if each.at < middle]


async def listed(bench: Bench, where: AuditFilter, limit: int = 100) -> list[Any]:
    events: list[Any] = []
    after: ListPosition | None = None
    while True:
        page = await auditor(bench).events(where, limit=limit, after=after)
        assert len(page.items) <= limit
        events += page.items
        if page.after is None:
            return events
        after = page.after


async def test_prune_deletes_old_tool_calls_and_recalls_of_all_tenants_in_chunks(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.indexing.jobs.prune.MAX_CHUNK", 2)
    for tenant in ("acme", "globex"):
        await begin(bench, tenant=tenant)
        await auditor(bench, tenant).record(RUN, [call(n) for n in range(5)])
        for n in range(4):
            recall = {"tenant_id": tenant, "agent_id": "bot", "id": f"{n:026d}", "event": "recall", "detail": "{}"}
            await insert_rows(bench, "recall_log", recall | {"recorded_at": 1 if n else DAY_MS * 40_000})
    for number in (1, 2, 3):
        await shift_rows(bench, "tool_call_log", {"recorded_at": -400 * DAY_MS}, number=number)
    told: list[int] = []
    limiter, of_runs = RateLimiter(1e9), 40_000  # days: the runs began with the epoch, and are to stay
    job = Prune(bench.database, audit_days=400, episode_days=of_runs, rate_limiter=limiter, report=told.append)
    assert await job.run() == Pruned(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, tool_calls=6, recalls=6, blobs=0)
    assert told == [2, 4, 6, 8, 10, 12]
    assert [each.number for each in calls_of(await replayed(bench))] == [4, 5]
    assert len(await rows_of(bench, "recall_log")) == 2
    await auditor(bench).record(RUN, [call(6)])
    assert [each.number for each in calls_of(await replayed(bench))] == [4, 5, 6]
