"""A store that is refused costs next to nothing, however often it is tried."""

import asyncio
from pathlib import Path

from app.domain.errors import MemoryGatewayError
from app.domain.memory import NewMemory, Scope
from app.services.turns.admission import REFUSED_MS, Refusals
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.scopes import switch


async def embedded(bench: Bench, *contents: str) -> list[str | None]:
    """Store each; return for each the code of its refusal, with ``+`` where it was embedded first."""
    codes: list[str | None] = []
    for content in contents:
        before = len(bench.embedder.calls)
        code = None
        try:
            await bench.gateway.store("bot", NewMemory(content))
        except MemoryGatewayError as error:
            code = error.code
        codes.append(f"{code}{'+' * (len(bench.embedder.calls) > before)}")
    return codes


async def test_a_store_over_a_quota_is_embedded_once_a_minute_at_most(tmp_path: Path, backend: Backend) -> None:
    async with bench_on(tmp_path, backend, agent_memories=1) as bench:
        assert await embedded(bench, "first", "second", "third", "fourth") == [
            "None+",
            "quota_exceeded+",
            "quota_exceeded",
            "quota_exceeded",
        ]


async def test_a_store_of_an_agent_that_is_switched_off_is_embedded_once_a_minute_at_most(
    tmp_path: Path, backend: Backend
) -> None:
    async with bench_on(tmp_path, backend) as bench:
        await embedded(bench, "first")
        await switch(bench.backends, on=False)
        assert await embedded(bench, "a", "b") == ["long_term_disabled+", "long_term_disabled"]
        await switch(bench.backends, on=True)
        assert await embedded(bench, "c", "d") == ["None+", "None+"]


async def test_a_store_that_is_asked_about_first_is_counted_once(tmp_path: Path, backend: Backend) -> None:
    async with bench_on(tmp_path, backend, agent_stores_per_minute=3) as bench:
        assert await embedded(bench, "a") == ["None+"]
        scope = Scope("acme", "bot")
        bench.backends.admission.refusals.note(scope, bench.backends.clock())
        assert await embedded(bench, "b", "c", "d") == ["None+", "None+", "quota_exceeded"]


async def test_stores_at_once_after_a_refusal_are_as_many_as_before(tmp_path: Path) -> None:
    async with bench_on(tmp_path, agent_stores_per_minute=20) as bench:
        bench.backends.admission.refusals.note(Scope("acme", "bot"), bench.backends.clock())
        stores = (bench.gateway.store("bot", NewMemory(f"memory {number}")) for number in range(20))
        assert len(set(await asyncio.gather(*stores))) == 20


def test_a_refusal_is_remembered_for_a_minute() -> None:
    refusals, scope = Refusals(), Scope("acme", "bot")
    refusals.note(scope, 1000)
    assert refusals.lately(scope, 1000 + REFUSED_MS - 1)
    assert not refusals.lately(scope, 1000 + REFUSED_MS)
    assert not refusals.lately(Scope("acme", "other"), 1000)
