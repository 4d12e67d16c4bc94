"""Who may read the metrics."""

from pathlib import Path

import httpx
import pytest

from app.domain.errors import ConfigurationError
from app.settings import load_settings
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving

TOKEN = "9f86d081884c7d659a2feaa0c55ad015"


async def ask(service: Service, address: str, headers: dict[str, str] | None = None) -> httpx.Response:
    transport = httpx.ASGITransport(service.app, client=(address, 5))
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        return await client.get("/metrics", headers=headers or {})


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
async def test_this_machine_reads_them(shared_service: Service, address: str) -> None:
    answer = await ask(shared_service, address)
    assert answer.status_code == 200
    assert "memory_gateway_" in answer.text


@pytest.mark.parametrize(
    "address",
    ["10.0.0.7", "172.17.0.1", "192.168.1.2", "203.0.113.9", "fd00::1", "2001:db8::1", "::ffff:10.0.0.7", "x", ""],
)
async def test_no_other_machine_reads_them(shared_service: Service, address: str) -> None:
    assert_problem(await ask(shared_service, address), 403, "forbidden")


@pytest.mark.parametrize(
    "name", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via", "X-Real-IP", "CF-Connecting-IP"]
)
@pytest.mark.parametrize("address", ["127.0.0.1", "203.0.113.9"])
async def test_what_a_header_says_of_the_sender_opens_nothing(shared_service: Service, address: str, name: str) -> None:
    assert_problem(await ask(shared_service, address, {name: "127.0.0.1"}), 403, "forbidden")


async def test_a_credential_of_a_tenant_opens_nothing(shared_service: Service) -> None:
    answer = await ask(shared_service, "203.0.113.9", shared_service.credential(admin=True))
    assert_problem(answer, 403, "forbidden")


async def test_who_has_the_token_reads_them_from_anywhere_also_by_a_proxy(tmp_path: Path) -> None:
    async with serving(tmp_path, metrics_token=TOKEN) as service:
        for authorization in (f"Bearer {TOKEN}", f"bearer {TOKEN}"):
            headers = {"Authorization": authorization, "X-Forwarded-For": "203.0.113.9"}
            assert (await ask(service, "10.0.0.7", headers)).status_code == 200
        for wrong in (f"Bearer {TOKEN}0", f"Bearer {TOKEN[:-1]}", "Bearer", TOKEN, f"Basic {TOKEN}"):
            for address in ("10.0.0.7", "127.0.0.1"):
                answer = await ask(service, address, {"Authorization": wrong})
                assert_problem(answer, 401, "unauthenticated")
                assert TOKEN not in answer.text
        assert_problem(await ask(service, "10.0.0.7"), 403, "forbidden")
        assert (await ask(service, "127.0.0.1")).status_code == 200


async def test_everyone_reads_them_where_that_is_set(tmp_path: Path) -> None:
    async with serving(tmp_path, metrics="open") as service:
        assert (await ask(service, "203.0.113.9", {"X-Forwarded-For": "198.51.100.1"})).status_code == 200


async def test_health_and_readiness_are_told_as_ever(shared_service: Service) -> None:
    transport = httpx.ASGITransport(shared_service.app, client=("203.0.113.9", 5))
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        assert [(await client.get(path)).status_code for path in ("/healthz", "/readyz")] == [200, 200]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("METRICS", "private", "must be 'loopback' or 'open'"),
        ("METRICS_TOKEN", "short", "at least 16 characters"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "zz:4317", "must be an http or https URL"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "must be 'http/protobuf'"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c", "name=value"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote", "must be 'always_on'"),
        ("OTEL_TRACES_SAMPLER_ARG", "1.5", "must be at most 1"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=f"^{name}: .*{said}"):
        load_settings()
    monkeypatch.delenv(name)
    assert TOKEN not in repr(load_settings(metrics_token=TOKEN, otel_exporter_otlp_headers=f"key={TOKEN}"))
