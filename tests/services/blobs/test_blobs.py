"""Blobs: what is kept comes back byte for byte or not at all, within bounds, and to its owner alone."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain import limits
from app.domain.author import Author
from app.domain.blobs import Blob
from app.domain.errors import (
    BlobGone,
    ContentTooLarge,
    CredentialsRefused,
    DatabaseUnavailable,
    Erasing,
    InvalidRequest,
    NotFound,
    QuotaExceeded,
    Unauthenticated,
    Unavailable,
    UpstreamRejected,
    UpstreamTimeout,
)
from app.domain.memory import NewMemory
from app.ports.object_store import NoObjectStore, ObjectStore
from app.services.blobs.blobs import Blobs
from app.storage.listing import ListPosition
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.objects import WatchedObjects, at, keys
from tests.support.scopes import revoke
from tests.support.tables import column_of, delete_rows

ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
DATA = b"\0\xff bytes"


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        bench.backends = replace(bench.backends, objects=WatchedObjects(bench.backends.objects))
        yield bench


def blobs(bench: Bench, tenant: str = "acme", author: Author = ADMINISTRATOR) -> Blobs:
    return Blobs(bench.backends.of_tenant(tenant, author))


def objects(bench: Bench) -> WatchedObjects:
    store: WatchedObjects = bench.backends.objects
    return store


async def states(bench: Bench) -> list[object]:
    return await column_of(bench, "blob", "state", by="id")


@pytest.mark.parametrize("agent", ["bot", None])
async def test_a_blob_comes_back_as_it_was_sent(bench: Bench, agent: str | None) -> None:
    sent = await blobs(bench).put(agent, DATA, "image/png")
    assert (sent.sha256, sent.size, sent.media_type) == (hashlib.sha256(DATA).hexdigest(), len(DATA), "image/png")
    assert sent.created_at > 0
    assert await blobs(bench).get(agent, sent.id) == sent
    assert await blobs(bench).read(sent) == DATA
    assert await keys(objects(bench)) == [f"t/acme/{sent.id}"]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=2000))
async def test_any_bytes_come_back(bench: Bench, data: bytes) -> None:
    sent = await blobs(bench).put("bot", data, "application/octet-stream")
    assert await blobs(bench).read(await blobs(bench).get("bot", sent.id)) == data


async def test_a_large_blob_comes_back_and_a_larger_one_is_refused(bench: Bench) -> None:
    data = bytes(range(256)) * (limits.BLOB_BYTES // 256)
    sent = await blobs(bench).put("bot", data, "application/octet-stream")
    assert await blobs(bench).read(sent) == data
    with pytest.raises(ContentTooLarge, match="body"):
        await blobs(bench).put("bot", data + b"x", "application/octet-stream")


@pytest.mark.parametrize("owner", ["bot", None])
async def test_a_blob_is_its_owners_alone(bench: Bench, owner: str | None) -> None:
    sent = await blobs(bench).put(owner, DATA, "text/plain")
    for tenant, agent in (("acme", "other"), ("acme", None if owner else "bot"), ("other", owner)):
        with pytest.raises(NotFound):
            await blobs(bench, tenant).get(agent, sent.id)
        await blobs(bench, tenant).delete(agent, sent.id)
        assert (await blobs(bench, tenant).list(agent, limit=100)).items == []
    assert await blobs(bench).read(await blobs(bench).get(owner, sent.id)) == DATA


@pytest.mark.parametrize("tenant", [".", "..", "...", "a:b", "-", "A" * 64])
async def test_every_id_of_a_tenant_has_a_place_of_its_own(bench: Bench, tenant: str) -> None:
    sent = await blobs(bench, tenant).put("bot", DATA, "text/plain")
    assert await blobs(bench, tenant).read(sent) == DATA
    (key,) = await keys(objects(bench))
    assert key.count("/") == 2
    assert key.endswith(f"/{sent.id}")


async def test_pages_of_a_listing_have_every_blob_once_the_newest_first(bench: Bench) -> None:
    sent = [await blobs(bench).put("bot", bytes([n]), "text/plain") for n in range(7)]
    await blobs(bench).put(None, DATA, "text/plain")
    listed: list[Blob] = []
    after: ListPosition | None = None
    while True:
        page = await blobs(bench).list("bot", limit=3, after=after)
        listed += page.items
        after = page.after
        if after is None:
            break
    assert sorted(listed, key=lambda blob: blob.id) == sorted(sent, key=lambda blob: blob.id)
    assert listed == sorted(listed, key=lambda blob: (blob.created_at, blob.id), reverse=True)


async def test_a_deleted_blob_is_gone_with_its_bytes_and_may_be_deleted_again(bench: Bench) -> None:
    sent = await blobs(bench).put("bot", DATA, "text/plain")
    for _ in range(2):
        await blobs(bench).delete("bot", sent.id)
    with pytest.raises(NotFound):
        await blobs(bench).get("bot", sent.id)
    assert (await keys(objects(bench)), await states(bench)) == ([], [])


@pytest.mark.parametrize(
    ("agent", "media_type", "field"),
    [
        ("a b", "text/plain", "agent_id"),
        ("bot", "text", "Content-Type"),
        ("bot", "text/plain\r\nX: y", "Content-Type"),
        ("bot", "text/" + "x" * 200, "Content-Type"),
        ("bot", "té/xt", "Content-Type"),
    ],
)
async def test_what_is_outside_its_bounds_is_named(bench: Bench, agent: str, media_type: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await blobs(bench).put(agent, DATA, media_type)
    assert [each.field for each in caught.value.errors] == [field]
    assert (await states(bench), objects(bench).calls) == ([], [])


async def test_a_tenant_keeps_no_more_blobs_than_it_may(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BLOBS", 3)
    await blobs(bench, "other").put("bot", DATA, "text/plain")
    ended = await asyncio.gather(
        *(blobs(bench).put(agent, DATA, "text/plain") for agent in ("a", "b", None, "d", "e", "f")),
        return_exceptions=True,
    )
    refused = [each for each in ended if isinstance(each, QuotaExceeded)]
    assert len(refused) == 3
    assert {each.reached for each in refused} == {"blobs;scope=tenant;used=3;limit=3"}
    assert len(await keys(objects(bench), "t/acme")) == 3


async def test_a_tenant_keeps_no_more_bytes_than_it_may(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BLOBS_BYTES", 10)
    first = await blobs(bench).put("bot", b"123456", "text/plain")
    with pytest.raises(QuotaExceeded) as caught:
        await blobs(bench).put("bot", b"12345", "text/plain")
    assert caught.value.reached == "blob_bytes;scope=tenant;used=6;limit=10"
    await blobs(bench).put("bot", b"1234", "text/plain")
    await blobs(bench).delete("bot", first.id)
    await blobs(bench).put("bot", b"12345", "text/plain")


async def test_many_at_once_lose_none(bench: Bench) -> None:
    sent = await asyncio.gather(*(blobs(bench).put("bot", str(n).encode(), "text/plain") for n in range(100)))
    assert [await blobs(bench).read(blob) for blob in sent] == [str(n).encode() for n in range(100)]
    assert await states(bench) == ["stored"] * 100


async def test_a_pointer_whose_object_is_gone_says_so(bench: Bench) -> None:
    sent = await blobs(bench).put("bot", DATA, "text/plain")
    await objects(bench).inner.delete(f"t/acme/{sent.id}")
    with pytest.raises(BlobGone):
        await blobs(bench).read(await blobs(bench).get("bot", sent.id))


@pytest.mark.parametrize("other", [b"", DATA[:-1], DATA + b"x", DATA[::-1]])
async def test_other_bytes_than_were_written_are_never_given_out(bench: Bench, other: bytes) -> None:
    sent = await blobs(bench).put("bot", DATA, "text/plain")
    await objects(bench).inner.put(f"t/acme/{sent.id}", other, "text/plain")
    with pytest.raises(UpstreamRejected):
        await blobs(bench).read(sent)


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_put_that_is_killed_leaves_nothing_that_looks_stored(bench: Bench, moment: str) -> None:
    setattr(objects(bench), moment, at("put", Killed()))
    with pytest.raises(Killed):
        await blobs(bench).put("bot", DATA, "text/plain")
    assert await states(bench) == ["writing"]
    assert (await blobs(bench).list("bot", limit=10)).items == []


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_deletion_that_is_killed_hides_the_blob_and_goes_on_when_asked_again(bench: Bench, moment: str) -> None:
    sent = await blobs(bench).put("bot", DATA, "text/plain")
    setattr(objects(bench), moment, at("delete", Killed()))
    with pytest.raises(Killed):
        await blobs(bench).delete("bot", sent.id)
    with pytest.raises(NotFound):
        await blobs(bench).get("bot", sent.id)
    bench.backends = replace(bench.backends, objects=objects(bench).inner)
    await blobs(bench).delete("bot", sent.id)
    assert (await keys(bench.backends.objects), await states(bench)) == ([], [])


async def test_a_store_that_refuses_leaves_nothing_behind(bench: Bench) -> None:
    objects(bench).before = at("put", CredentialsRefused("no"))
    with pytest.raises(CredentialsRefused):
        await blobs(bench).put("bot", DATA, "text/plain")
    assert await states(bench) == []


async def test_a_store_of_which_nobody_knows_what_it_did_keeps_its_row(bench: Bench) -> None:
    objects(bench).after = at("put", UpstreamTimeout("late"))
    with pytest.raises(UpstreamTimeout):
        await blobs(bench).put("bot", DATA, "text/plain")
    assert await states(bench) == ["writing"]
    assert len(await keys(objects(bench))) == 1


async def test_nothing_is_kept_while_its_owner_is_erased_also_where_that_begins_meanwhile(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("one"))

    async def erase(operation: str, key: str) -> None:
        del key
        if operation == "put":
            await bench.gateway.erase("bot")

    objects(bench).after = erase
    for _ in range(2):
        with pytest.raises(Erasing):
            await blobs(bench).put("bot", DATA, "text/plain")
        assert (await keys(objects(bench)), await states(bench)) == ([], [])


async def test_a_row_that_was_taken_away_meanwhile_leaves_no_object(bench: Bench) -> None:
    async def repair(operation: str, key: str) -> None:
        del key
        if operation == "put":
            await delete_rows(bench, "blob")

    objects(bench).after = repair
    with pytest.raises(UpstreamTimeout):
        await blobs(bench).put("bot", DATA, "text/plain")
    assert await keys(objects(bench)) == []


async def test_a_revoked_credential_keeps_and_deletes_nothing(bench: Bench) -> None:
    sent = await blobs(bench).put("bot", DATA, "text/plain")
    await revoke(bench.backends)
    with pytest.raises(Unauthenticated):
        await blobs(bench).put("bot", DATA, "text/plain")
    with pytest.raises(Unauthenticated):
        await blobs(bench).delete("bot", sent.id)
    assert await states(bench) == ["stored"]


async def test_an_outage_of_the_database_is_told(bench: Bench) -> None:
    bench.database.error = DatabaseUnavailable("away")
    for asked in (blobs(bench).put("bot", DATA, "text/plain"), blobs(bench).list("bot", limit=1)):
        with pytest.raises(DatabaseUnavailable):
            await asked


@pytest.mark.parametrize("what", ["put", "delete", "read"])
async def test_a_service_without_an_object_store_says_what_is_not_set(bench: Bench, what: str) -> None:
    sent = await blobs(bench).put("bot", DATA, "text/plain")
    none: ObjectStore = NoObjectStore()
    bench.backends = replace(bench.backends, objects=none)
    asked: dict[str, Any] = {
        "put": lambda: blobs(bench).put("bot", DATA, "text/plain"),
        "delete": lambda: blobs(bench).delete("bot", sent.id),
        "read": lambda: blobs(bench).read(sent),
    }
    with pytest.raises(Unavailable, match="R2_BUCKET") as caught:
        await asked[what]()
    assert (caught.value.status, caught.value.retry_after) == (503, None)
    assert len(await states(bench)) == 1
