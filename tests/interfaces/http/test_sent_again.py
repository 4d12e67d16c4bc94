"""Where calls are divided, a request that is sent again is known by what it asks."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.runtime.backends import Backends
from app.runtime.call_shares import ProcessCalls
from tests.support.envelope_shape import NAMESPACES
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving

BODY = {"agent_id": "bot", "query": "invoices"}


class Asked:
    """What tenants have asked a service whose calls are divided."""

    def __init__(self) -> None:
        self.by: list[str] = []
        self.contents: list[bytes] = []

    def admit(self, tenant_id: str, content: bytes) -> None:
        self.by.append(tenant_id)
        self.contents.append(content)

    def change(self, backends: Backends) -> Backends:
        return replace(backends, calls=ProcessCalls(self.admit, low=lambda: False))


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
async def service(tmp_path: Path, asked: Asked) -> AsyncIterator[Service]:
    async with serving(tmp_path, change=asked.change) as service:
        yield service


async def test_the_same_request_is_the_same_each_time_and_any_other_is_another(service: Service, asked: Asked) -> None:
    headers = service.credential(admin=True)
    for _ in range(2):
        await service.post("/recall", BODY)
    await service.post("/recall", BODY | {"query": "deliveries"})
    await service.post("/store", BODY)
    for agent in ("bot", "other"):
        await service.client.get("/memories", params={"agent_id": agent}, headers=headers)
    assert asked.by == ["acme"] * 6
    assert (asked.contents[0] == asked.contents[1], len(set(asked.contents))) == (True, 5)


async def test_a_request_for_a_name_with_a_slash_is_known_too(service: Service, asked: Asked) -> None:
    headers = service.credential(admin=True)
    for name in ("a%2Fb", "a%2Fb", "ab"):
        answer = await service.client.get(f"{NAMESPACES}/my-app/profiles/{name}/memories", headers=headers)
        assert answer.status_code == 404, answer.text
    assert (asked.contents[0] == asked.contents[1], asked.contents[1] == asked.contents[2]) == (True, False)


async def test_a_body_that_is_read_in_parts_is_left_to_the_route(service: Service, asked: Asked) -> None:
    await service.store("The customer prefers invoices in Swedish")
    headers = service.credential(admin=True)
    exported = await service.client.get("/export", headers=headers)
    moved = service.credential("globex", admin=True) | {"Content-Type": "application/x-ndjson"}
    answer = await service.client.post("/import", content=exported.content, headers=moved)
    assert answer.status_code == 200, answer.text
    assert asked.by == ["acme", "acme", "globex"]
    assert await service.contents("invoices", tenant="globex") == ["The customer prefers invoices in Swedish"]


async def test_who_has_no_credential_is_refused_before_its_body_is_read(service: Service, asked: Asked) -> None:
    async def body() -> AsyncIterator[bytes]:
        raise AssertionError
        yield b""

    answer = await service.client.post("/recall", content=body(), headers={"Content-Type": "application/json"})
    assert_problem(answer, 401, "unauthenticated")
    assert asked.by == []


async def test_a_body_that_is_too_large_is_refused_as_ever(service: Service) -> None:
    assert_problem(await service.post("/recall", BODY | {"query": "x" * 300_000}), 413, "content_too_large")
