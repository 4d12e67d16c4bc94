"""Which names the service answers to: a page of another site cannot have its own name lead to this machine."""

from pathlib import Path

import httpx
import pytest

from app.interfaces.asgi import create_app
from app.interfaces.http.middleware import IN_NETWORK
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving

LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]


async def ask(service: Service, path: str, host: str | None, *, hosts: list[str] | None = None) -> httpx.Response:
    app = create_app(service.shards, LOOPBACK if hosts is None else hosts)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        request = client.build_request("GET", path)
        del request.headers["host"]
        if host is not None:
            request.headers["host"] = host
        return await client.send(request)


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "LOCALHOST", "127.0.0.1:9", "[::1]", "[::1]:80"])
async def test_a_name_of_this_machine_is_answered(shared_service: Service, host: str) -> None:
    assert (await ask(shared_service, "/healthz", host)).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "", "localhost:x", None]
)
@pytest.mark.parametrize("path", ["/healthz", "/docs", "/openapi.json", "/memories", "/mcp", "/nowhere"])
async def test_another_name_is_refused_on_every_route(shared_service: Service, path: str, host: str | None) -> None:
    assert_problem(await ask(shared_service, path, host), 421, "host_not_allowed")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((name, 200) for name in ("192.0.2.7:8000", "10.1.2.3", "[2001:db8::1]:80", "gateway:8000", "my_service")),
        *((name, 421) for name in ("evil.example", "10.1.2.3.evil.example", "gateway.", "[::1", "a b", "", "1.2.3")),
    ],
)
async def test_beyond_this_machine_addresses_and_names_without_a_dot_are_answered_and_no_domain(
    shared_service: Service, host: str, status: int
) -> None:
    answer = await ask(shared_service, "/healthz", host, hosts=[*LOOPBACK, IN_NETWORK])
    assert answer.status_code == status


async def test_without_names_every_one_is_answered_but_two_at_once_are_not(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        assert (await ask(service, "/healthz", "any.example", hosts=[])).status_code == 200
        headers = [("Host", "one.example"), ("Host", "two.example")]
        assert_problem(await service.client.get("/healthz", headers=headers), 421, "host_not_allowed")
