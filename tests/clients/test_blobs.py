"""Blobs by both clients, on the running service."""

import hashlib

import httpx
import pytest

from memory_gateway_client import BlobPage, Conflict, InvalidRequest, NotFound, Unavailable
from tests.clients.asking import Asked
from tests.clients.conftest import Connect
from tests.support.service import Service

DATA = b'\0\xff{"not": "JSON'


async def test_bytes_come_back_as_they_were_sent(bot: Asked) -> None:
    blob = await bot.put_blob(DATA, media_type="text/plain; charset=utf-8")
    assert (blob.sha256, blob.bytes) == (hashlib.sha256(DATA).hexdigest(), len(DATA))
    assert blob.media_type == "text/plain; charset=utf-8"
    assert await bot.get_blob(blob.blob_id) == DATA
    assert (await bot.list_blobs()).blobs == (blob,)
    assert await bot.get_blob((await bot.put_blob(b"")).blob_id) == b""


async def test_what_belongs_to_the_tenant_is_kept_apart_from_what_is_an_agents(bot: Asked) -> None:
    own, shared = await bot.put_blob(b"own"), await bot.put_blob(b"shared", shared=True)
    assert (await bot.list_blobs()).blobs == (own,)
    assert (await bot.list_blobs(shared=True)).blobs == (shared,)
    assert await bot.list_blobs(agent_id="other") == BlobPage(())
    assert await bot.get_blob(shared.blob_id, shared=True) == b"shared"
    with pytest.raises(NotFound):
        await bot.get_blob(shared.blob_id)
    with pytest.raises(ValueError, match="not both"):
        await bot.get_blob(shared.blob_id, shared=True, agent_id="bot")


async def test_pages_and_deletions(bot: Asked) -> None:
    for number in range(3):
        await bot.put_blob(bytes([number]))
    page = await bot.list_blobs(limit=2)
    rest = await bot.list_blobs(limit=2, cursor=page.cursor)
    assert (len(page.blobs), len(rest.blobs), rest.cursor) == (2, 1, None)
    for blob in (*page.blobs, *rest.blobs, rest.blobs[0]):
        assert await bot.delete_blob(blob.blob_id) is None
    assert await bot.list_blobs() == BlobPage(())


async def test_what_is_lost_or_too_large_is_told(bot: Asked, service: Service) -> None:
    blob = await bot.put_blob(DATA)
    await service.runtime.backends.objects.delete(f"t/acme/{blob.blob_id}")
    with pytest.raises(NotFound) as gone:
        await bot.get_blob(blob.blob_id)
    assert (gone.value.status, gone.value.code) == (410, "blob_gone")
    with pytest.raises(InvalidRequest) as large:
        await bot.put_blob(bytes(20 * 1024 * 1024 + 1))
    assert large.value.code == "content_too_large"
    with pytest.raises(ValueError, match="media_type"):
        await bot.put_blob(DATA, media_type="text/plain\r\nX: y")
    await bot.erase_agent("bot")
    with pytest.raises(Conflict):
        await bot.put_blob(DATA)


async def test_a_put_of_which_nobody_knows_what_became_is_not_made_again(connect: Connect) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        raise httpx.ReadError("lost")

    client = connect(answer, agent_id="bot")
    with pytest.raises(Unavailable):
        await client.put_blob(DATA)
    assert [(each.content, each.headers["content-type"]) for each in asked] == [(DATA, "application/octet-stream")]
