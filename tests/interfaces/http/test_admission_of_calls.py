"""Where calls are divided, a request is admitted once its credential is verified and before its body is read."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.domain.errors import RateLimited
from app.runtime.backends import Backends
from app.runtime.call_shares import ProcessCalls
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving

BODY = {"agent_id": "bot", "query": "invoices"}


@dataclass
class Admission:
    """Which tenants have asked a service whose calls are divided, and whether it has calls."""

    tenants: list[str] = field(default_factory=list)
    used_up: bool = False

    def admit(self, tenant_id: str) -> None:
        self.tenants.append(tenant_id)
        if self.used_up:
            raise RateLimited("Nothing is left.", retry_after=7)

    def change(self, backends: Backends) -> Backends:
        return replace(backends, calls=ProcessCalls(self.admit, low=lambda: False))


@pytest.fixture
def admission() -> Admission:
    return Admission()


@pytest.fixture
async def service(tmp_path: Path, admission: Admission) -> AsyncIterator[Service]:
    async with serving(tmp_path, change=admission.change) as service:
        yield service


async def unread() -> AsyncIterator[bytes]:
    raise AssertionError
    yield b""


async def test_each_request_is_admitted_once_in_its_tenants_name(service: Service, admission: Admission) -> None:
    await service.store("The customer prefers invoices in Swedish")
    exported = await service.client.get("/export", headers=service.credential(admin=True))
    moved = service.credential("globex", admin=True) | {"Content-Type": "application/x-ndjson"}
    answer = await service.client.post("/import", content=exported.content, headers=moved)
    assert answer.status_code == 200, answer.text
    assert admission.tenants == ["acme", "acme", "globex"]
    assert await service.contents("invoices", tenant="globex") == ["The customer prefers invoices in Swedish"]


async def test_who_has_no_credential_is_refused_before_its_body_is_read(service: Service, admission: Admission) -> None:
    answer = await service.client.post("/recall", content=unread(), headers={"Content-Type": "application/json"})
    assert_problem(answer, 401, "unauthenticated")
    assert admission.tenants == []


async def test_who_has_had_its_part_is_refused_before_its_body_is_read(service: Service, admission: Admission) -> None:
    admission.used_up = True
    headers = service.credential() | {"Content-Type": "application/json"}
    answer = await service.client.post("/recall", content=unread(), headers=headers)
    assert_problem(answer, 429, "rate_limited")
    assert answer.headers["retry-after"] == "7"


async def test_a_body_that_is_too_large_is_refused_as_ever(service: Service) -> None:
    assert_problem(await service.post("/recall", BODY | {"query": "x" * 300_000}), 413, "content_too_large")
