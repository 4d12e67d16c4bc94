"""Large values of runs and of working memory: the very value comes back, and its bytes live as long as its row."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain import limits
from app.domain.episodes import NewRun, Run, RunsWanted
from app.domain.errors import (
    BlobGone,
    Conflict,
    ContentTooLarge,
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    QuotaExceeded,
    RunEnded,
    Unavailable,
    UpstreamTimeout,
)
from app.domain.json_types import to_json
from app.domain.preconditions import Precondition
from app.domain.working import WorkingKey
from app.indexing.jobs.prune import Prune, Pruned
from app.indexing.jobs.reconcile_blobs import BlobFindings, ReconcileBlobs
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Row, Statement
from app.ports.object_store import NoObjectStore
from app.services.blobs.blobs import Blobs
from app.services.tiers.episodic import EpisodicMemory
from app.services.tiers.working import WorkingMemory
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.objects import WatchedObjects, keys
from tests.support.tables import Not, count_of, delete_rows, rows_of, set_rows

pytestmark = pytest.mark.thorough

RUN, OTHER_RUN = "01K2Z7A1B2C3D4E5F6G7H8J9KM", "01K2Z7A1B2C3D4E5F6G7H8J9KN"
BYTES = limits.LARGE_VALUE_BYTES
LARGE: dict[str, Any] = {"text": "é" * (BYTES // 2), "n": [1.5, None]}
OTHER: dict[str, Any] = {"text": "x" * (BYTES + 5), "n": 2}
POINTER = {"blob": {"id": RUN, "sha256": "0" * 64, "size": 1, "media_type": "application/json"}}
ANY, NONE = Precondition(), Precondition(absent=True)


class Killed(BaseException):
    """The process is gone."""


@dataclass
class WatchedDatabase:
    """Tells ``moment`` before and after each run."""

    inner: Database
    moment: Callable[[], None]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.moment()
        rows = await self.inner.run(statements)
        self.moment()
        return rows


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        bench.backends = replace(bench.backends, objects=WatchedObjects(bench.backends.objects))
        yield bench


def runs(bench: Bench, tenant: str = "acme") -> EpisodicMemory:
    return EpisodicMemory(bench.backends.of_tenant(tenant, ADMINISTRATOR))


def working(bench: Bench, tenant: str = "acme") -> WorkingMemory:
    return WorkingMemory(bench.backends.of_tenant(tenant, ADMINISTRATOR))


async def begin(bench: Bench, value: Any, run_id: str = RUN) -> Run:
    return (await runs(bench).begin(NewRun("bot", "type", value, run_id, 0))).run


async def put(bench: Bench, value: Any, key: str = "k", only: Precondition = ANY) -> WorkingKey:
    return (await working(bench).set("bot", "i", key, value, ttl_seconds=3600, only=only)).value


async def blobs(bench: Bench) -> list[tuple[object, object]]:
    """Return the state and the size of every blob."""
    return [(row["state"], row["size"]) for row in await rows_of(bench, "blob", "state", "size", by="id")]


async def lose_all(bench: Bench) -> None:
    for key in await keys(bench.backends.objects):
        await bench.backends.objects.delete(key)


async def prune(bench: Bench) -> Pruned:
    return await Prune(
        bench.database,
        audit_days=400,
        episode_days=90,
        rate_limiter=RateLimiter(1e9),
        report=lambda _: None,
        objects=bench.backends.objects,
    ).run()


async def reconcile(bench: Bench) -> BlobFindings:
    """Let two hours pass for blobs, and repair."""
    bench.later(7200)
    store = bench.backends.objects
    return await ReconcileBlobs([bench.database], store, rate_limiter=RateLimiter(1e9), repair=True).run()


def at_most(size: int) -> str:
    """Return a value with so many bytes as JSON."""
    return "x" * (size - 2)


@pytest.mark.parametrize(("size", "objects"), [(BYTES, 0), (BYTES + 1, 1), (limits.RUN_VALUE_BYTES, 1)])
async def test_input_and_output_of_a_run_come_back_as_they_were(bench: Bench, size: int, objects: int) -> None:
    value = at_most(size)
    assert (await begin(bench, value)).input == value
    assert (await runs(bench).complete(RUN, {"a": 1})).output == {"a": 1}
    await begin(bench, 1, OTHER_RUN)
    assert (await runs(bench).complete(OTHER_RUN, value)).output == value
    assert len(await keys(bench.backends.objects)) == 2 * objects
    bench.backends.objects.calls.clear()
    read = await runs(bench).run(RUN)
    assert (read.input, read.output) == (value, {"a": 1})
    assert (await runs(bench).run(OTHER_RUN)).output == value
    assert bench.backends.objects.calls == ["get"] * 2 * objects


async def test_a_larger_input_or_output_is_refused_by_name(bench: Bench) -> None:
    await begin(bench, 1)
    asked: list[tuple[str, Callable[[], Awaitable[object]]]] = [
        ("input", lambda: begin(bench, at_most(limits.RUN_VALUE_BYTES + 1), OTHER_RUN)),
        ("output", lambda: runs(bench).complete(RUN, at_most(limits.RUN_VALUE_BYTES + 1))),
    ]
    for name, made in asked:
        with pytest.raises(InvalidRequest) as caught:
            await made()
        assert [each.field for each in caught.value.errors] == [name]
    assert bench.backends.objects.calls == []


async def test_a_key_has_its_value_back_and_counts_its_real_size(bench: Bench) -> None:
    written = await put(bench, LARGE)
    size = len(to_json(LARGE).encode())
    assert (written.value, written.bytes) == (LARGE, size + 1)
    assert await working(bench).get("bot", "i", "k") == written
    assert (await working(bench).list("bot", "i")).used_bytes == size + 1
    with pytest.raises(ContentTooLarge, match="does not fit"):
        await put(bench, OTHER, "second")
    assert await blobs(bench) == [("stored", size)]
    assert len(await keys(bench.backends.objects)) == 1


async def test_the_state_of_a_run_may_be_large(bench: Bench) -> None:
    await begin(bench, 1)
    written = await working(bench).set_state(RUN, LARGE, ttl_seconds=60, only=ANY, only_agent=None)
    assert (await working(bench).state(RUN, only_agent="bot")) == written.value
    assert written.value.value == LARGE
    await lose_all(bench)
    with pytest.raises(BlobGone):
        await working(bench).state(RUN, only_agent=None)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.recursive(
        st.none() | st.integers(-9, 9) | st.text('aé"\\\n', max_size=5) | st.just(POINTER) | st.just("x" * BYTES),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["blob", "a"]), inner, max_size=1),
        max_leaves=3,
    )
)
async def test_any_value_comes_back_whatever_it_looks_like(bench: Bench, value: Any) -> None:
    if len(to_json(value)) > limits.WORKING_BYTES - 1:
        return
    await put(bench, value)
    assert (await working(bench).get("bot", "i", "k")).value == value
    await delete_rows(bench, "agent_runs")
    await begin(bench, value)
    assert (await runs(bench).complete(RUN, value)).output == value
    read = await runs(bench).run(RUN)
    assert (read.input, read.output) == (value, value)


async def test_lists_have_pointers_and_read_no_object(bench: Bench) -> None:
    await begin(bench, LARGE)
    await runs(bench).complete(RUN, OTHER)
    await put(bench, LARGE)
    await lose_all(bench)
    bench.backends.objects.calls.clear()
    (run,) = (await runs(bench).runs(RunsWanted(), limit=10)).items
    (key,) = (await working(bench).list("bot", "i")).keys
    assert bench.backends.objects.calls == []
    for held, value in ((run.input, LARGE), (run.output, OTHER), (key.value, LARGE)):
        data = to_json(value).encode()
        pointer: Any = held
        assert pointer == {
            "blob": {
                "id": pointer["blob"]["id"],
                "sha256": hashlib.sha256(data).hexdigest(),
                "size": len(data),
                "media_type": "application/json",
            }
        }


async def test_a_pointer_can_be_read_as_the_blob_that_it_names(bench: Bench) -> None:
    await put(bench, LARGE)
    (key,) = (await working(bench).list("bot", "i")).keys
    held: Any = key.value
    service = Blobs(bench.backends.of_tenant("acme"))
    assert await service.read(await service.get("bot", held["blob"]["id"])) == to_json(LARGE).encode()


async def test_what_is_lost_is_gone_and_says_so_and_ends_nothing_else(bench: Bench) -> None:
    await begin(bench, LARGE)
    await put(bench, LARGE)
    await lose_all(bench)
    with pytest.raises(BlobGone):
        await runs(bench).run(RUN)
    with pytest.raises(BlobGone):
        await working(bench).get("bot", "i", "k")
    assert (await runs(bench).complete(RUN, 1)).status == "completed"
    assert (await put(bench, 2)).value == 2
    await put(bench, LARGE)
    await lose_all(bench)
    await working(bench).delete("bot", "i", "k", ANY)
    assert (await working(bench).list("bot", "i")).keys == []


async def test_the_same_again_is_answered_the_same_and_keeps_one_object(bench: Bench) -> None:
    turned = dict(reversed(LARGE.items()))
    for value in (LARGE, LARGE, turned):
        assert (await begin(bench, value)).input == LARGE
    for value in (OTHER, OTHER, dict(reversed(OTHER.items()))):
        assert (await runs(bench).complete(RUN, value)).output == OTHER
    assert len(await keys(bench.backends.objects)) == 2
    for other in ({**LARGE, "n": [1.5, 4444]}, OTHER, 1):
        with pytest.raises(Conflict):
            await begin(bench, other)
        with pytest.raises(RunEnded):
            await runs(bench).complete(RUN, {**OTHER, "n": 3} if other == 1 else LARGE)
    assert [state for state, _ in await blobs(bench)] == ["stored", "stored"]
    assert len(await keys(bench.backends.objects)) == 2


async def test_the_output_of_a_run_that_is_not_there_is_kept_nowhere(bench: Bench) -> None:
    await begin(bench, 1)
    for only_agent, run_id in ((None, OTHER_RUN), ("other", RUN)):
        with pytest.raises(NotFound):
            await runs(bench).complete(run_id, LARGE, only_agent=only_agent)
    assert (await blobs(bench), bench.backends.objects.calls) == ([], [])


async def test_what_is_overwritten_or_deleted_leaves_no_object(bench: Bench) -> None:
    await put(bench, LARGE)
    await put(bench, OTHER)
    assert (await working(bench).get("bot", "i", "k")).value == OTHER
    assert len(await blobs(bench)) == len(await keys(bench.backends.objects)) == 1
    await put(bench, 1)
    assert (await blobs(bench), await keys(bench.backends.objects)) == ([], [])
    await put(bench, LARGE)
    await working(bench).delete("bot", "i", "k", ANY)
    assert (await blobs(bench), await keys(bench.backends.objects)) == ([], [])


async def test_what_expires_is_removed_by_prune(bench: Bench) -> None:
    await put(bench, LARGE)
    await put(bench, 1, "other")
    bench.later(3601)
    with pytest.raises(NotFound):
        await working(bench).get("bot", "i", "k")
    await put(bench, 2, "other")
    assert [state for state, _ in await blobs(bench)] == ["deleting"]
    await put(bench, OTHER, "k")
    bench.later(3601)
    pruned = await prune(bench)
    assert (pruned.working, pruned.blobs) == (2, 2)
    assert (await blobs(bench), await keys(bench.backends.objects)) == ([], [])
    assert (await prune(bench)).blobs == 0


async def test_the_values_of_a_run_go_with_it(bench: Bench) -> None:
    await begin(bench, LARGE)
    await runs(bench).complete(RUN, OTHER)
    await begin(bench, LARGE, OTHER_RUN)
    await set_rows(bench, "agent_runs", {"started_at": 1, "ended_at": 2}, id=RUN)
    pruned = await prune(bench)
    assert (pruned.runs, pruned.blobs) == (1, 2)
    assert len(await keys(bench.backends.objects)) == 1
    assert (await runs(bench).run(OTHER_RUN)).input == LARGE


async def test_a_prune_that_has_no_object_store_at_hand_leaves_what_it_cannot_remove(bench: Bench) -> None:
    await put(bench, LARGE)
    await delete_rows(bench, "working_key")
    whole, bench.backends = bench.backends, replace(bench.backends, objects=NoObjectStore())
    with pytest.raises(Unavailable):
        await prune(bench)
    bench.backends = whole
    assert (await prune(bench)).blobs == 1
    assert await keys(bench.backends.objects) == []


async def test_a_store_that_is_away_stops_no_deletion(bench: Bench) -> None:
    await put(bench, LARGE)
    whole, bench.backends = bench.backends, replace(bench.backends, objects=NoObjectStore())
    await working(bench).delete("bot", "i", "k", ANY)
    bench.backends = whole
    assert [state for state, _ in await blobs(bench)] == ["deleting"]
    assert (await prune(bench)).blobs == 1


async def test_of_compares_and_sets_at_once_one_wins_and_the_others_leave_nothing(bench: Bench) -> None:
    first = await put(bench, {"n": -1, "text": "x" * BYTES})
    only = Precondition([str(first.version)])
    ended = await asyncio.gather(
        *(put(bench, {"n": n, "text": "x" * BYTES}, only=only) for n in range(8)), return_exceptions=True
    )
    won = [each for each in ended if isinstance(each, WorkingKey)]
    assert [type(each) for each in ended if not isinstance(each, WorkingKey)] == [PreconditionFailed] * 7
    assert [await working(bench).get("bot", "i", "k")] == won
    assert len(await blobs(bench)) == len(await keys(bench.backends.objects)) == 1


async def test_a_read_that_is_overtaken_by_a_write_gives_what_was_written(bench: Bench) -> None:
    await put(bench, LARGE)

    async def overtake(operation: str, key: str) -> None:
        del key
        if operation == "get" and bench.backends.objects.calls.count("get") == 1:
            await put(bench, OTHER)

    bench.backends.objects.before = overtake
    assert (await working(bench).get("bot", "i", "k")).value == OTHER


async def test_counting_by_compare_and_set_loses_no_update(bench: Bench) -> None:
    await put(bench, {"n": 0, "text": "x" * BYTES})

    async def count() -> None:
        while True:
            held = await working(bench).get("bot", "i", "k")
            value: Any = held.value
            with suppress(PreconditionFailed):
                await put(bench, {**value, "n": value["n"] + 1}, only=Precondition([str(held.version)]))
                return

    await asyncio.gather(*(count() for _ in range(6)))
    value: Any = (await working(bench).get("bot", "i", "k")).value
    assert value["n"] == 6
    assert len(await keys(bench.backends.objects)) == 1


async def test_large_values_count_as_blobs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(to_json(LARGE).encode())
    monkeypatch.setattr(limits, "MAX_BLOBS_BYTES", 2 * size)
    await begin(bench, LARGE)
    await put(bench, LARGE)
    with pytest.raises(QuotaExceeded) as caught:
        await runs(bench).complete(RUN, LARGE)
    assert caught.value.reached == f"blob_bytes;scope=tenant;used={2 * size};limit={2 * size}"
    assert (await runs(bench).run(RUN)).status == "running"
    await working(bench).delete("bot", "i", "k", ANY)
    assert (await runs(bench).complete(RUN, LARGE)).output == LARGE
    monkeypatch.setattr(limits, "MAX_BLOBS", 2)
    with pytest.raises(QuotaExceeded, match="blobs"):
        await put(bench, LARGE)
    assert (await put(bench, at_most(BYTES))).value == at_most(BYTES)


async def test_without_an_object_store_a_large_value_is_refused_by_name(bench: Bench) -> None:
    bench.backends = replace(bench.backends, objects=NoObjectStore())
    await begin(bench, at_most(BYTES))
    for name, made in (
        ("input", lambda: begin(bench, LARGE, OTHER_RUN)),
        ("output", lambda: runs(bench).complete(RUN, LARGE)),
        ("value", lambda: put(bench, LARGE)),
    ):
        with pytest.raises(ContentTooLarge, match=f"at most {BYTES}") as caught:
            await made()
        assert [each.field for each in caught.value.errors] == [name]
    assert await blobs(bench) == []


async def test_a_value_that_was_given_up_meanwhile_is_not_pointed_to(bench: Bench) -> None:
    async def too_slow(operation: str, key: str) -> None:
        del key
        if operation == "put":
            await reconcile(bench)

    await begin(bench, 1)
    bench.backends.objects.after = too_slow
    for made in (
        lambda: begin(bench, LARGE, OTHER_RUN),
        lambda: runs(bench).complete(RUN, LARGE),
        lambda: put(bench, LARGE),
    ):
        with pytest.raises(UpstreamTimeout):
            await made()
    assert (await runs(bench).run(RUN)).status == "running"
    assert (await blobs(bench), await keys(bench.backends.objects)) == ([], [])


async def test_an_erasure_takes_the_values_of_the_agent(bench: Bench) -> None:
    await begin(bench, LARGE)
    await put(bench, LARGE)
    erased = await bench.gateway.erase("bot")
    await bench.quiet()
    assert (await blobs(bench), await keys(bench.backends.objects)) == ([], [])
    receipt = (await bench.gateway.erasure(erased.id)).receipt
    assert receipt is not None
    assert receipt["erased"]["blobs"] == 2


Act: TypeAlias = Callable[[Bench], Awaitable[object]]
ACTS: dict[str, Act] = {
    "begin": lambda bench: begin(bench, LARGE, OTHER_RUN),
    "complete": lambda bench: runs(bench).complete(RUN, OTHER),
    "set": lambda bench: put(bench, OTHER, "new", Precondition(absent=True)),
    "overwrite": lambda bench: put(bench, OTHER),
    "compare and set": lambda bench: put(bench, OTHER, only=Precondition(["*"])),
    "delete": lambda bench: working(bench).delete("bot", "i", "k", ANY),
    "prune": prune,
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.thorough
async def test_killed_between_any_two_steps_nothing_points_to_nothing_and_no_object_stays(
    bench: Bench, act: str
) -> None:
    for kill_at in range(100):
        await delete_rows(bench, "working_key")
        await delete_rows(bench, "agent_runs")
        await prune(bench)
        await begin(bench, LARGE)
        if act != "set":
            await put(bench, LARGE)
        if act == "prune":
            bench.later(3601)
        if not await killed(bench, ACTS[act], kill_at):
            break
        await nothing_is_lost(bench)
        findings = await reconcile(bench)
        assert (findings.orphans, findings.missing, findings.changed) == (0, 0, 0)
        await prune(bench)
        await nothing_is_lost(bench)
        pointing = 0
        for table, column in (("agent_runs", "input_blob"), ("agent_runs", "output_blob"), ("working_key", "blob_id")):
            pointing += await count_of(bench, table, **{column: Not(None)})
        assert len(await keys(bench.backends.objects)) == len(await blobs(bench)) == pointing
    assert kill_at >= 2


async def killed(bench: Bench, act: Act, kill_at: int) -> bool:
    """Do it and kill it at the n-th moment before or after a call of a port; return whether it came so far."""
    passed = 0

    def moment() -> None:
        nonlocal passed
        passed += 1
        if passed > kill_at:
            raise Killed

    async def watch(operation: str, key: str) -> None:
        del operation, key
        moment()

    whole, database = bench.backends, bench.database
    watched: Any = WatchedDatabase(database, moment)
    bench.database = watched
    bench.backends = replace(whole, database=watched, objects=WatchedObjects(whole.objects.inner, watch, watch))
    try:
        await act(bench)
    except Killed:
        return True
    finally:
        bench.backends, bench.database = whole, database
    return False


async def nothing_is_lost(bench: Bench) -> None:
    """Read everything that is there: what it is, or what it was."""
    for run_id in (RUN, OTHER_RUN):
        try:
            run = await gives(runs(bench).run(run_id))
        except NotFound:
            assert run_id == OTHER_RUN
            continue
        assert (run.input, run.output) == (LARGE, OTHER if run.status == "completed" else None)
    for key in ("k", "new"):
        try:
            held = await gives(working(bench).get("bot", "i", key))
        except NotFound:
            continue
        assert held.value in (LARGE, OTHER)


async def gives(read: Awaitable[Any]) -> Any:
    """Read, and take no lost value for one that is not there."""
    try:
        return await read
    except BlobGone as error:
        raise AssertionError("A value is lost.") from error
