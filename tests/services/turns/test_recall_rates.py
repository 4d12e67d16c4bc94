"""How many recalls a tenant and an agent may make in a minute."""

from pathlib import Path

import pytest

from app.domain.errors import QuotaExceeded
from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from app.services.turns.admission import RecallRates
from tests.support.gateways import bench_on
from tests.support.service import serving

MINUTE = 60_000


def admitted(rates: RecallRates, *scopes: tuple[str, str], now: int = MINUTE) -> list[str]:
    told = []
    for tenant, agent in scopes:
        try:
            rates.admit(Scope(tenant, agent), now)
            told.append("")
        except QuotaExceeded as error:
            told.append(f"{error.reached} {error.retry_after}")
    return told


def test_an_agent_may_make_so_many_recalls_in_a_minute_and_others_still_may() -> None:
    rates = RecallRates(agent=2)
    reached = "recalls_per_minute;scope=agent;used=2;limit=2 60"
    assert admitted(rates, *[("a", "x")] * 3, ("a", "y"), ("b", "x")) == ["", "", reached, "", ""]


def test_a_tenant_may_make_so_many_recalls_with_all_its_agents() -> None:
    rates = RecallRates(tenant=2)
    reached = "recalls_per_minute;scope=tenant;used=2;limit=2 60"
    assert admitted(rates, ("a", "x"), ("a", "y"), ("a", "z"), ("b", "x")) == ["", "", reached, ""]


def test_a_new_minute_begins_with_none_and_retry_after_tells_when() -> None:
    rates = RecallRates(agent=1)
    assert admitted(rates, *[("a", "x")] * 2, now=MINUTE + 58_001)[1].endswith(" 2")
    assert admitted(rates, ("a", "x"), now=2 * MINUTE) == [""]


def test_a_limit_of_none_counts_nothing() -> None:
    assert admitted(RecallRates(), *[("a", "x")] * 50) == [""] * 50


async def test_a_recall_over_the_limit_is_refused_before_anything_is_embedded_or_read(tmp_path: Path) -> None:
    async with bench_on(tmp_path, agent_recalls_per_minute=0) as bench:
        await bench.gateway.store("bot", NewMemory("a red fox"))
        embedded, journal = len(bench.embedder.calls), list(bench.database.journal)
        with pytest.raises(QuotaExceeded):
            await bench.gateway.recall("bot", Query("red fox"))
        with pytest.raises(QuotaExceeded):
            await bench.gateway.explain("bot", Query("red fox"), "01K5ZZZZZZZZZZZZZZZZZZZZZZ")
        assert (len(bench.embedder.calls), bench.database.journal) == (embedded, journal)


async def test_http_and_the_tool_call_are_refused_and_say_when_to_try_again(tmp_path: Path) -> None:
    async with serving(tmp_path, agent_recalls_per_minute=0) as service:
        for path, more in (("/recall", {}), ("/recall/explain", {"memory_id": "01K5ZZZZZZZZZZZZZZZZZZZZZZ"})):
            answer = await service.post(path, {"agent_id": "bot", "query": "red fox", **more})
            assert (answer.status_code, answer.json()["code"]) == (429, "quota_exceeded")
            assert 1 <= int(answer.headers["Retry-After"]) <= 60
        called = await service.mcp("tools/call", {"name": "recall_memory", "arguments": {"query": "red fox"}})
        assert called.json()["result"]["isError"] is True
        assert "recalls per minute" in called.text
