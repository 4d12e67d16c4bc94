"""What every object store must do, run on a folder and, over a socket to the double, on R2."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.adapters.objects.folder import FolderObjects
from app.adapters.objects.r2 import R2Objects
from app.domain.errors import UpstreamRejected
from app.observability.metrics import Metrics
from app.ports.object_store import ObjectMissing, ObjectStore
from memory_gateway_double.server import Handle

MOST = 1 << 20


def r2(double: Handle, *, patience: float = 1.0, bucket: str | None = None, key: str | None = None) -> R2Objects:
    options = double.double.options
    return R2Objects(
        endpoint=double.r2_url,
        bucket=bucket or options.r2_bucket,
        access_key_id=key or options.r2_access_key_id,
        secret_access_key=options.r2_secret_access_key,
        metrics=Metrics(),
        patience=patience,
    )


@pytest.fixture(params=["folder", "r2-double"])
async def objects(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ObjectStore]:
    if request.param == "folder":
        yield FolderObjects(tmp_path / "data" / "blobs", Metrics())
        return
    yield r2(request.getfixturevalue("double"))


@pytest.fixture(autouse=True)
def _as_it_was(double: Handle) -> Iterator[None]:
    yield
    double.double.faults.clear()
    for key in double.double.r2.objects():
        double.double.r2.remove(key)


async def listed(objects: ObjectStore, prefix: str, after: str = "") -> list[tuple[str, int]]:
    return [(each.key, each.size) async for page in objects.list(prefix, after) for each in page]


@pytest.mark.parametrize("data", [b"", b"\0\xff\r\n", "🙂".encode() * 1000, bytes(MOST)])
async def test_an_object_comes_back_byte_for_byte(objects: ObjectStore, data: bytes) -> None:
    await objects.put("t/acme/one", data, "text/html; charset=utf-8")
    assert await objects.get("t/acme/one", most=MOST) == data


async def test_a_second_put_replaces_the_object_as_a_whole(objects: ObjectStore) -> None:
    await objects.put("t/acme/one", b"longer than the next", "text/plain")
    await objects.put("t/acme/one", b"short", "text/plain")
    assert await objects.get("t/acme/one", most=MOST) == b"short"


async def test_what_is_not_there_is_missing_and_may_be_deleted(objects: ObjectStore) -> None:
    with pytest.raises(ObjectMissing):
        await objects.get("t/acme/one", most=MOST)
    await objects.delete("t/acme/one")
    await objects.put("t/acme/one", b"x", "text/plain")
    await objects.delete("t/acme/one")
    await objects.delete("t/acme/one")
    with pytest.raises(ObjectMissing):
        await objects.get("t/acme/one", most=MOST)
    assert await listed(objects, "t") == []


async def test_an_object_over_the_limit_is_not_read(objects: ObjectStore) -> None:
    await objects.put("t/acme/one", b"12345", "text/plain")
    with pytest.raises(UpstreamRejected):
        await objects.get("t/acme/one", most=4)


async def test_a_listing_has_the_keys_below_a_prefix_in_their_order_from_behind_a_key(objects: ObjectStore) -> None:
    keys = ["t/a-b/1", "t/a/1", "t/a/2", "t/a:b/1", "t/aa/1", "u/a/1", "t/a/10"]
    for key in keys:
        await objects.put(key, b"x" * len(key), "text/plain")
    below = sorted(key for key in keys if key.startswith("t/"))
    assert await listed(objects, "t") == [(key, len(key)) for key in below]
    assert await listed(objects, "t/a") == [("t/a/1", 5), ("t/a/10", 6), ("t/a/2", 5)]
    for key in below:
        assert [each for each, _ in await listed(objects, "t", key)] == below[below.index(key) + 1 :]
    assert await listed(objects, "nothing") == []


async def test_a_long_listing_comes_in_pages(objects: ObjectStore) -> None:
    for start in range(0, 1100, 100):
        puts = (objects.put(f"t/a/{number:04}", b"", "text/plain") for number in range(start, start + 100))
        await asyncio.gather(*puts)
    pages = [page async for page in objects.list("t/a")]
    assert len(pages) > 1
    assert [each.key for page in pages for each in page] == [f"t/a/{number:04}" for number in range(1100)]


@pytest.mark.parametrize("tenant", ["acme", "a:b", "A.b_c-d", "%2E%2E", "..."])
async def test_keys_of_every_form_of_a_tenant_are_kept_apart(objects: ObjectStore, tenant: str) -> None:
    await objects.put(f"t/{tenant}/one", b"mine", "text/plain")
    await objects.put("t/other/one", b"theirs", "text/plain")
    assert await objects.get(f"t/{tenant}/one", most=MOST) == b"mine"
    assert await listed(objects, f"t/{tenant}") == [(f"t/{tenant}/one", 4)]


async def test_many_at_once_lose_nothing(objects: ObjectStore) -> None:
    await asyncio.gather(*(objects.put(f"t/a/{number}", str(number).encode(), "text/plain") for number in range(100)))
    read = await asyncio.gather(*(objects.get(f"t/a/{number}", most=MOST) for number in range(100)))
    assert [int(data) for data in read] == list(range(100))


async def test_a_store_that_answers_can_be_pinged(objects: ObjectStore) -> None:
    await objects.ping()
