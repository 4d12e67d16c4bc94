"""Reconcile of blobs: what a kill, a loss or another hand has left is found, and nothing else is touched."""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ulid import ULID

from app.domain.blobs import key_of, read_key
from app.domain.errors import Unavailable, UpstreamUnavailable
from app.indexing.jobs.reconcile_blobs import BlobFindings, ReconcileBlobs
from app.indexing.rate_limiter import RateLimiter
from app.ports.object_store import NoObjectStore, ObjectStore
from app.services.blobs.blobs import Blobs
from app.storage.system import blobs as statements
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.objects import WatchedObjects, at, keys
from tests.support.tables import delete_rows, rows_of, set_rows

OLD = str(ULID.from_timestamp(1_600_000_000))


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        bench.backends = replace(bench.backends, objects=WatchedObjects(bench.backends.objects))
        yield bench


async def put(bench: Bench, tenant: str = "acme", data: bytes = b"data") -> str:
    sent = await Blobs(bench.backends.of_tenant(tenant, ADMINISTRATOR)).put("bot", data, "text/plain")
    return key_of(tenant, sent.id)


async def killed_put(bench: Bench, moment: str, operation: str = "put") -> None:
    objects = bench.backends.objects
    setattr(objects, moment, at(operation, Killed()))

    async def work() -> None:
        key = await put(bench)
        await Blobs(bench.backends.of_tenant("acme", ADMINISTRATOR)).delete("bot", key.rpartition("/")[2])

    with pytest.raises(Killed):
        await work()
    bench.backends = replace(bench.backends, objects=WatchedObjects(objects.inner))


async def compared(bench: Bench, *, repair: bool = False, objects: ObjectStore | None = None) -> BlobFindings:
    store = objects or bench.backends.objects
    return await ReconcileBlobs([bench.database], store, rate_limiter=RateLimiter(1e9), repair=repair).run()


def counts(findings: BlobFindings) -> dict[str, int]:
    kinds = ("orphans", "missing", "changed", "unfinished", "foreign")
    return {kind: getattr(findings, kind) for kind in kinds if getattr(findings, kind)}


async def test_where_all_is_well_nothing_is_found_or_changed(bench: Bench) -> None:
    for tenant in ("acme", "..", "a", "a-b", "a:b"):
        await put(bench, tenant)
    bench.later(7200)
    before = await keys(bench.backends.objects)
    findings = await compared(bench, repair=True)
    assert (findings.objects, findings.rows, counts(findings), findings.repaired) == (5, 5, {}, 0)
    assert await keys(bench.backends.objects) == before


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("operation", ["put", "delete"])
async def test_what_a_kill_has_left_is_found_once_it_is_old_and_removed_on_request(
    bench: Bench, moment: str, operation: str
) -> None:
    kept = await put(bench)
    await killed_put(bench, moment, operation)
    assert counts(await compared(bench, repair=True)) == {}  # it may still go on
    bench.later(7200)
    assert counts(await compared(bench)) == {"unfinished": 1}
    repaired = await compared(bench, repair=True)
    assert (counts(repaired), repaired.repaired) == ({"unfinished": 1}, 1)
    assert await keys(bench.backends.objects) == [kept]
    assert (len(await rows_of(bench, "blob", "id")), counts(await compared(bench))) == (1, {})


async def test_an_object_without_a_row_is_removed_on_request_if_it_is_old(bench: Bench) -> None:
    kept = await put(bench)
    young = key_of("acme", str(ULID()))
    for key in (key_of("acme", OLD), key_of("nobody", OLD), young):
        await bench.backends.objects.put(key, b"x", "text/plain")
    found = await compared(bench)
    assert counts(found) == {"orphans": 2}
    assert found.examples["orphans"] == [key_of("acme", OLD), key_of("nobody", OLD)]
    assert (await compared(bench, repair=True)).repaired == 2
    assert await keys(bench.backends.objects) == sorted([kept, young])


async def test_a_lost_or_changed_object_is_told_and_its_row_stays(bench: Bench) -> None:
    lost, changed, _ = [await put(bench) for _ in range(3)]
    alone = await put(bench, "alone")
    bench.later(7200)
    for key in (lost, alone):
        await bench.backends.objects.delete(key)
    await bench.backends.objects.put(changed, b"another", "text/plain")
    found = await compared(bench, repair=True)
    assert counts(found) == {"missing": 2, "changed": 1}
    assert sorted(found.examples["missing"]) == sorted([lost, alone])
    assert found.repaired == 0
    assert len(await rows_of(bench, "blob", "id", state="stored")) == 4


async def test_what_others_keep_in_the_bucket_is_left_alone(bench: Bench) -> None:
    foreign = ["t/acme/notes.txt", f"t/a/b/{OLD}", f"t/%2E%2Ea/{OLD}"]
    for key in foreign:
        await bench.backends.objects.put(key, b"x", "text/plain")
    assert counts(await compared(bench, repair=True)) == {"foreign": 3}
    assert sorted(await keys(bench.backends.objects)) == sorted(foreign)


async def test_more_rows_than_one_window_are_all_compared(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [await put(bench) for _ in range(7)]
    bench.later(7200)
    monkeypatch.setattr("app.indexing.jobs.reconcile_blobs.WINDOW", 3)
    for name in ("_OF_TENANT", "_TENANTS"):
        monkeypatch.setattr(statements, name, getattr(statements, name).replace("LIMIT 500", "LIMIT 3"))
    await bench.backends.objects.delete(made[5])
    found = await compared(bench)
    assert (found.rows, counts(found), found.examples["missing"]) == (7, {"missing": 1}, [made[5]])


async def test_an_outage_is_told_and_nothing_is_taken_for_missing(bench: Bench) -> None:
    await put(bench)
    bench.later(7200)
    failing = WatchedObjects(bench.backends.objects, before=at("list", UpstreamUnavailable("away")))
    with pytest.raises(UpstreamUnavailable):
        await compared(bench, repair=True, objects=failing)
    with pytest.raises(Unavailable, match="R2_BUCKET"):
        await compared(bench, repair=True, objects=NoObjectStore())


async def test_without_an_object_store_and_without_blobs_there_is_nothing_to_compare(bench: Bench) -> None:
    assert await compared(bench, objects=NoObjectStore()) == BlobFindings()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=st.lists(st.sampled_from(["row", "object", "writing", "deleting", "none"]), max_size=6))
async def test_after_a_repair_only_what_is_lost_is_found(bench: Bench, damage: list[str]) -> None:
    await delete_rows(bench, "blob")
    for key in await keys(bench.backends.objects):
        await bench.backends.objects.delete(key)
    lost = 0
    for done in damage:
        key = await put(bench)
        id_ = key.rpartition("/")[2]
        if done == "object":
            await bench.backends.objects.delete(key)
            lost += 1
        elif done == "row":
            await delete_rows(bench, "blob", id=id_)
        elif done != "none":
            await set_rows(bench, "blob", {"state": done}, id=id_)
    bench.later(7200)
    first = await compared(bench, repair=True)
    unfinished, orphans = damage.count("writing") + damage.count("deleting"), damage.count("row")
    assert counts(first) == {
        kind: count for kind, count in (("missing", lost), ("unfinished", unfinished), ("orphans", orphans)) if count
    }
    assert counts(await compared(bench)) == ({"missing": lost} if lost else {})
    assert len(await keys(bench.backends.objects)) == damage.count("none")


@given(tenant=st.from_regex(r"[A-Za-z0-9._:-]{1,64}", fullmatch=True))
def test_a_key_is_read_as_it_was_made(tenant: str) -> None:
    key = key_of(tenant, OLD)
    assert read_key(key) == (tenant, OLD)
    assert not {"", ".", ".."} & set(key.split("/"))


@pytest.mark.parametrize("deletes", [False, True])
@pytest.mark.parametrize("done", [False, True])
async def test_wherever_a_process_is_killed_there_is_a_whole_blob_or_what_a_repair_removes(
    bench: Bench,
    done: bool,  # noqa: FBT001 - pytest names it
    deletes: bool,  # noqa: FBT001
) -> None:
    """Kill at each call of each port in turn, before its effect and after it."""
    killed = 0
    for number in range(1, 8):
        service = Blobs(bench.backends.of_tenant("acme", ADMINISTRATOR))
        known = await service.put("bot", b"kept", "text/plain") if deletes else None
        left = number

        async def count(*_: object, after: bool = False) -> None:
            nonlocal left, killed
            left -= not after
            if left == 0 and after is done:
                killed += 1
                raise Killed

        run = type(bench.database).run

        async def counted(database: Any, given: Any, run: Any = run, count: Any = count) -> Any:
            await count()
            answer = await run(database, given)
            await count(after=True)
            return answer

        async def after(*_: object, count: Any = count) -> None:
            await count(after=True)

        watched = WatchedObjects(bench.backends.objects.inner, before=count, after=after)
        bench.backends = replace(bench.backends, objects=watched)
        service = Blobs(bench.backends.of_tenant("acme", ADMINISTRATOR))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(bench.database), "run", counted)
            with suppress(Killed):
                await (service.delete("bot", known.id) if known else service.put("bot", b"new", "text/plain"))
        bench.backends = replace(bench.backends, objects=WatchedObjects(watched.inner))
        service = Blobs(bench.backends.of_tenant("acme", ADMINISTRATOR))
        shown = (await service.list("bot", limit=100)).items
        assert {await service.read(blob) for blob in shown} <= {b"kept", b"new"}
        bench.later(7200)
        repaired = await compared(bench, repair=True)
        assert set(counts(repaired)) <= {"unfinished"}
        assert await keys(bench.backends.objects) == sorted(key_of("acme", blob.id) for blob in shown)
        assert counts(await compared(bench)) == {}
        for blob in shown:
            await service.delete("bot", blob.id)
    assert killed == 3  # two runs of the database, and a call of the object store
