"""What is the same for everyone: its bytes are made once, compressed for who takes that, and known by an entity tag."""

import asyncio
import gzip

import httpx
import pytest

from app.interfaces.http.pages import LatelyMade, Pages, StaticPage
from tests.support.service import Service

PAGES = ["/openapi.json", "/docs", "/docs/assets/swagger-ui-bundle.js", "/docs/assets/swagger-ui.css", "/llms.txt"]
IDENTITY, GZIP = {"Accept-Encoding": "identity"}, {"Accept-Encoding": "gzip"}


async def raw(service: Service, path: str, headers: dict[str, str]) -> tuple[httpx.Response, bytes]:
    async with service.client.stream("GET", path, headers=headers) as answer:
        return answer, b"".join([part async for part in answer.aiter_raw()])


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_compressed_for_who_takes_that_and_is_the_same(service: Service, path: str) -> None:
    plain, content = await raw(service, path, IDENTITY)
    packed, compressed = await raw(service, path, GZIP)
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(compressed) == content
    assert len(compressed) == int(packed.headers["content-length"]) < len(content) / 1.5
    for answer in (plain, packed):
        assert "Accept-Encoding" in answer.headers["vary"]
    assert plain.headers["etag"] != packed.headers["etag"], "other bytes have another tag"


@pytest.mark.parametrize("encoding", [IDENTITY, GZIP], ids=str)
@pytest.mark.parametrize("path", PAGES)
async def test_who_has_a_page_gets_no_bytes_of_it(service: Service, path: str, encoding: dict[str, str]) -> None:
    first = await service.client.get(path, headers=encoding)
    again = await service.client.get(path, headers=encoding | {"If-None-Match": f'"x", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert again.headers["vary"] == first.headers["vary"]
    assert (await service.client.get(path, headers=encoding | {"If-None-Match": '"x"'})).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        *[("gzip", True), ("br, GZIP;q=0.5", True), ("*", True), ("identity, *;q=0.1", True)],
        *[("", False), ("br", False), ("gzip;q=0", False), ("gzip; q=0.000", False), ("*;q=0", False)],
    ],
)
async def test_the_encoding_is_one_that_the_caller_takes(service: Service, accepted: str, *, packed: bool) -> None:
    answer, _ = await raw(service, "/openapi.json", {"Accept-Encoding": accepted})
    assert ("content-encoding" in answer.headers) == packed


async def test_a_file_that_is_not_there_is_not_found(service: Service) -> None:
    for name in ("nothing.js", "__init__.py", "..%2F__init__.py"):
        assert (await service.client.get(f"/docs/assets/{name}")).status_code == 404


async def test_a_page_is_made_once_however_many_ask_for_it_at_once() -> None:
    made: list[str] = []
    pages = Pages(most=2)

    def page() -> StaticPage:
        made.append("page")
        return StaticPage.of(b"x", "text/plain")

    answers = await asyncio.gather(*(pages.get("a", page) for _ in range(20)))
    assert (len(made), len(set(map(id, answers)))) == (1, 1)
    for key in ("b", "c", "a"):  # no more than two are held
        await pages.get(key, page)
    assert len(made) == 4


async def test_metrics_are_made_once_for_all_who_ask_in_the_same_second() -> None:
    made: list[bytes] = []

    def page() -> StaticPage:
        made.append(b"%d" % len(made))
        return StaticPage.of(made[-1], "text/plain")

    lately, always = LatelyMade(page, reuse_seconds=3600), LatelyMade(page, reuse_seconds=0)
    assert {each.content for each in await asyncio.gather(*(lately.get() for _ in range(20)))} == {b"0"}
    assert [(await always.get()).content for _ in range(3)] == [b"1", b"2", b"3"]
