"""The routes of blobs: any bytes in, the same bytes out as a file that no browser runs."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.errors import UpstreamUnavailable
from app.domain.limits import BLOB_BYTES
from app.ports.object_store import NoObjectStore
from tests.support.backends import Backend
from tests.support.objects import WatchedObjects, at
from tests.support.service import Service, serving

DATA = b"\0\xff<script>"
ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
BOT = {"agent_id": "bot"}


async def send(
    service: Service,
    data: Any = DATA,
    *,
    params: dict[str, str] | None = None,
    media_type: str = "text/html",
    **who: Any,
) -> httpx.Response:
    headers = service.credential(**who) | {"Content-Type": media_type}
    return await service.client.post("/blobs", params=BOT if params is None else params, content=data, headers=headers)


async def fetch(service: Service, blob_id: str, *, params: dict[str, str] | None = None, **who: Any) -> httpx.Response:
    asked = BOT if params is None else params
    return await service.client.get(f"/blobs/{blob_id}", params=asked, headers=service.credential(**who))


async def remove(service: Service, blob_id: str, *, params: dict[str, str] | None = None, **who: Any) -> httpx.Response:
    asked = BOT if params is None else params
    return await service.client.delete(f"/blobs/{blob_id}", params=asked, headers=service.credential(**who))


async def test_a_blob_goes_in_and_comes_out_as_a_file_that_no_browser_shows(any_service: Service) -> None:
    sent = await send(any_service)
    digest = hashlib.sha256(DATA).hexdigest()
    assert sent.status_code == 201
    told = sent.json()
    assert set(told) == {"blob_id", "sha256", "bytes", "size", "media_type", "created_at"}
    assert (told["sha256"], told["size"], told["media_type"]) == (digest, len(DATA), "text/html")
    got = await fetch(any_service, told["blob_id"])
    assert (got.status_code, got.content) == (200, DATA)
    assert got.headers["content-type"] == "text/html"
    assert got.headers["content-disposition"].startswith("attachment")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert got.headers["etag"] == f'"{digest}"'
    assert got.headers["content-length"] == str(len(DATA))


async def test_bytes_without_a_type_are_bytes(service: Service) -> None:
    headers = service.credential()
    sent = await service.client.post("/blobs", params=BOT, content=b"", headers=headers)
    assert (sent.status_code, sent.json()["media_type"], sent.json()["size"]) == (201, "application/octet-stream", 0)
    got = await fetch(service, sent.json()["blob_id"])
    assert (got.status_code, got.content) == (200, b"")


async def test_a_blob_of_the_largest_size_is_taken_and_one_more_byte_is_not(service: Service) -> None:
    data = bytes(BLOB_BYTES)
    sent = await send(service, data)
    assert sent.status_code == 201, sent.text
    assert (await fetch(service, sent.json()["blob_id"])).content == data

    async def in_parts() -> Any:
        for _ in range(21):
            yield bytes(1024 * 1024)

    for larger in (data + b"x", in_parts()):
        refused = await send(service, larger)
        assert (refused.status_code, refused.json()["code"]) == (413, "content_too_large")


async def test_other_routes_take_no_more_than_before(service: Service) -> None:
    headers = service.credential() | {"Content-Type": "application/json"}
    refused = await service.client.post("/store", content=bytes(300 * 1024), headers=headers)
    assert refused.status_code == 413


async def test_a_credential_of_one_agent_reaches_its_own_blobs_and_reads_the_tenants(service: Service) -> None:
    of_bot, of_tenant = [
        (await send(service, params=params, admin=True)).json()["blob_id"] for params in ({"agent_id": "bot"}, {})
    ]
    assert (await send(service, agent="bot")).status_code == 201
    assert (await fetch(service, of_bot, agent="bot")).status_code == 200
    assert (await fetch(service, of_tenant, params={}, agent="bot")).status_code == 200
    assert (await fetch(service, of_tenant, agent="bot")).status_code == 404
    listed = await service.client.get("/blobs", headers=service.credential(agent="bot"))
    assert [blob["blob_id"] for blob in listed.json()["blobs"]] == [of_tenant]
    for refused in (
        await fetch(service, of_bot, agent="other"),
        await send(service, agent="other"),
        await send(service, params={}, agent="bot"),
        await remove(service, of_tenant, params={}, agent="bot", admin=True),
        await remove(service, of_bot, agent="other", admin=True),
        await remove(service, of_bot),
        await service.client.get("/blobs", params=BOT, headers=service.credential(agent="other")),
    ):
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


async def test_a_blob_of_another_tenant_is_not_there(service: Service) -> None:
    blob_id = (await send(service, tenant="acme")).json()["blob_id"]
    assert (await fetch(service, blob_id, tenant="other")).status_code == 404
    assert (await remove(service, blob_id, tenant="other", admin=True)).status_code == 204
    assert (await fetch(service, blob_id, tenant="acme")).status_code == 200


async def test_a_listing_goes_on_where_it_was_and_its_cursor_is_good_for_it_alone(service: Service) -> None:
    sent = [(await send(service, bytes([n]))).json()["blob_id"] for n in range(5)]
    headers = service.credential()
    listed: list[str] = []
    params = {**BOT, "limit": "2"}
    while True:
        page = (await service.client.get("/blobs", params=params, headers=headers)).json()
        listed += [blob["blob_id"] for blob in page["blobs"]]
        if "cursor" not in page:
            break
        params["cursor"] = page["cursor"]
    assert sorted(listed) == sorted(sent)
    for other in ({"agent_id": "other"}, {}):
        query = {**other, "cursor": params["cursor"]}
        refused = await service.client.get("/blobs", params=query, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_cursor")


async def test_an_administrator_deletes_and_may_do_so_again(any_service: Service) -> None:
    blob_id = (await send(any_service)).json()["blob_id"]
    for _ in range(2):
        assert (await remove(any_service, blob_id, admin=True)).status_code == 204
    assert (await fetch(any_service, blob_id)).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "params", "media_type", "field"),
    [
        ("POST", "/blobs", {"agent_id": "a b"}, "text/plain", "agent_id"),
        ("POST", "/blobs", {"agent": "bot"}, "text/plain", "agent"),
        ("POST", "/blobs", BOT, "nonsense", "Content-Type"),
        ("GET", "/blobs/nonsense", BOT, "text/plain", "blob_id"),
        ("GET", f"/blobs/{ABSENT}", {"agent_id": ""}, "text/plain", "agent_id"),
        ("GET", "/blobs", {"limit": "101"}, "text/plain", "limit"),
        ("GET", "/blobs", {"other": "1"}, "text/plain", "other"),
        ("DELETE", "/blobs/nonsense", BOT, "text/plain", "blob_id"),
    ],
)
async def test_what_is_wrong_is_named(
    shared_service: Service, method: str, path: str, params: dict[str, str], media_type: str, field: str
) -> None:
    headers = shared_service.credential(admin=True) | {"Content-Type": media_type}
    refused = await shared_service.client.request(method, path, params=params, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert [each["field"] for each in refused.json()["errors"]] == [field]


async def test_a_lost_object_is_gone_and_a_changed_one_is_an_error_before_any_byte(any_service: Service) -> None:
    lost, changed = [(await send(any_service)).json()["blob_id"] for _ in range(2)]
    objects = any_service.runtime.backends.objects
    await objects.delete(f"t/acme/{lost}")
    await objects.put(f"t/acme/{changed}", DATA[::-1], "text/html")
    gone = await fetch(any_service, lost)
    assert (gone.status_code, gone.json()["code"]) == (410, "blob_gone")
    wrong = await fetch(any_service, changed)
    assert (wrong.status_code, wrong.json()["code"]) == (502, "upstream_rejected")


async def test_without_a_bucket_a_service_on_cloudflare_says_that_it_keeps_no_blobs(
    tmp_path: Path, backend: Backend
) -> None:
    async with serving(tmp_path, on=backend, change=lambda each: replace(each, objects=NoObjectStore())) as service:
        refused = await send(service)
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert "R2_BUCKET" in refused.json()["detail"]
        assert "Retry-After" not in refused.headers
        assert (await service.client.get("/readyz")).status_code == 200


async def test_bodies_of_a_tenant_wait_for_room_and_the_room_comes_back(service: Service) -> None:
    shares = service.runtime.backends.admission.blob_bodies
    data = bytes(BLOB_BYTES)
    ids = [each.json()["blob_id"] for each in await asyncio.gather(*(send(service, data) for _ in range(5)))]
    assert [each.status_code for each in await asyncio.gather(*(fetch(service, id_) for id_ in ids))] == [200] * 5
    objects = WatchedObjects(service.runtime.backends.objects, before=at("get", UpstreamUnavailable("away")))
    object.__setattr__(service.runtime.backends, "objects", objects)
    assert (await fetch(service, ids[0])).status_code == 503
    assert not shares._of  # noqa: SLF001 - what is held of the room
