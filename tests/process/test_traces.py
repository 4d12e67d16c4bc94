"""Traces of real processes: each worker sends its own, and no collector keeps one from ending."""

from typing import Any

import httpx
import pytest

from tests.process.conftest import Start
from tests.process.server import until
from tests.support.collector import collecting

pytestmark = pytest.mark.thorough

SOON: dict[str, Any] = {"OTEL_BSP_SCHEDULE_DELAY": "50"}


async def test_each_of_several_workers_sends_its_traces_under_a_name_of_its_own(start: Start) -> None:
    with collecting() as collector:
        server = await start(WORKERS="2", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **SOON)

        async def both_have_sent() -> bool:
            async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
                await client.get("/healthz")
            return len({span.service["service.instance.id"] for span in collector.spans}) == 2

        await until(both_have_sent)
        assert await server.stop() == 0


async def test_a_process_ends_though_its_collector_hangs(start: Start) -> None:
    with collecting("hangs") as collector:
        server = await start(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **SOON)

        async def it_is_asked() -> bool:
            async with server.client() as client:
                assert (await client.get("/usage")).is_success
            return bool(collector.headers)

        await until(it_is_asked)
        await server.stop()
        assert "Finished server process" in server.log.read_text()
        assert not collector.let_go.is_set()


async def test_a_request_has_one_span_though_the_environment_asks_for_those_of_the_framework_too(start: Start) -> None:
    with collecting() as collector:
        server = await start(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, FASTAPI_OTEL_AUTO_CONFIGURE="true", **SOON)
        async with server.client() as client:
            assert (await client.get("/usage")).is_success
        await server.stop()
        assert [span.name for span in collector.spans].count("GET /usage") == 1
