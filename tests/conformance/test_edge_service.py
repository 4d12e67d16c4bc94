"""A service behind both entries of the edge: nobody learns of others, the laws hold, and all is as it is over REST."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from structlog.testing import capture_logs

from app.runtime.doctor import diagnose
from tests.conformance.edge import ENTRIES, Edge, EdgeBackend
from tests.interfaces.test_leaks import *  # noqa: F403 - the same suite, not a copy of it
from tests.services.memories.test_laws import Memory
from tests.support.backends import Backend, running_on
from tests.support.generation import LONG
from tests.support.service import Service, serving


@pytest.fixture(params=ENTRIES)
def backend(request: pytest.FixtureRequest, edge: Edge) -> Iterator[Backend]:
    names: dict[str, str] = dict(zip(("embedded", "cloudflare"), ENTRIES, strict=True))
    backend = EdgeBackend(edge, names.get(request.param, request.param))
    yield backend
    backend.close()


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_laws_of_memory_hold(monkeypatch: pytest.MonkeyPatch, edge: Edge, entry: str) -> None:
    @contextmanager
    def on_the_edge(*_: Any, **__: Any) -> Iterator[Backend]:
        yield EdgeBackend(edge, entry)

    monkeypatch.setattr("tests.services.memories.test_laws.running_on", on_the_edge)
    steps = settings(
        max_examples=6 if LONG else 2,
        stateful_step_count=20 if LONG else 12,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Memory, settings=steps)


async def test_a_service_stores_recalls_and_deletes_and_tells_what_it_goes_through(
    tmp_path: Path, backend: Backend
) -> None:
    with capture_logs() as logs:
        async with serving(tmp_path, on=backend):
            pass
    (ready,) = [line for line in logs if line["event"] == "ready"]
    assert (ready["database"], ready["index"]) == ("cloudflare-d1 (edge)", "cloudflare-vectorize (edge)")
    async with serving(tmp_path, on=backend) as service:
        await service.store("Invoices go out in Swedish", metadata={"topic": "billing"}, session_id="s1")
        await service.store("The meeting is on Thursday", metadata={"topic": "calendar", "rooms": [1, None, {"x": 2}]})
        await service.store("Invoices of another tenant", tenant="other")
        first, second = await service.recall("invoices in Swedish")
        assert [first["content"], second["content"]] == ["Invoices go out in Swedish", "The meeting is on Thursday"]
        assert second["metadata"] == {"topic": "calendar", "rooms": [1, None, {"x": 2}]}
        assert (await service.delete(first["id"])).is_success
        assert await service.contents("invoices in Swedish") == ["The meeting is on Thursday"]
        parts = (await service.client.get("/readyz")).json()["parts"]
        assert [part["backend"] for part in parts[:2]] == ["cloudflare-d1 (edge)", "cloudflare-vectorize (edge)"]
        checks = await diagnose(service.runtime)
        assert [check for check in checks if not check.ok] == []
        assert [check.finding for check in checks[:2]] == ["cloudflare-d1 (edge)", "cloudflare-vectorize (edge)"]
        assert "memory_gateway_cloudflare_calls_left +Inf" in (await service.client.get("/metrics")).text


async def test_what_one_replica_has_stored_or_deleted_another_knows_at_once(tmp_path: Path, backend: Backend) -> None:
    async with serving(tmp_path, on=backend) as first, serving(tmp_path, on=backend) as second:
        for here, there in [(first, second), (second, first)] * 3:
            await here.store("what one of them has stored")
            (entry,) = await there.recall("what one of them has stored")
            assert (await there.delete(entry["id"])).is_success
            assert await here.contents("what one of them has stored") == []


async def test_recalls_are_what_they_are_over_rest_and_take_one_call(tmp_path: Path, edge: Edge) -> None:
    texts = [f"The {color} {animal} sleeps in the {place}" for color in ("red", "green") for animal in ("fox", "owl")
             for place in ("north", "south", "barn")]  # fmt: skip
    wanted: tuple[dict[str, Any], ...] = ({"top_k": 3}, {"top_k": 20}, {"filter": {"metadata": {"n": 3}}})
    with running_on("cloudflare") as rest:
        backends = {"rest": rest, "edge": EdgeBackend(edge, "worker")}
        found: dict[str, list[list[tuple[str, float]]]] = {}
        for name, backend in backends.items():
            async with serving(tmp_path / name, on=backend, indexer_seconds=30) as service:
                for n, text in enumerate(texts):
                    await service.store(text, metadata={"n": n % 4}, session_id=f"s{n % 3}")
                await _indexed(service)
                edge.called()
                found[name] = [
                    [(entry["content"], entry["score"]) for entry in await service.recall("green owl in a barn", **how)]
                    for how in wanted
                ]
                if name == "edge":
                    assert edge.called() == ["/recall-fused"] * len(found[name])
    for over_rest, over_edge in zip(found["rest"], found["edge"], strict=True):
        assert [content for content, _ in over_edge] == [content for content, _ in over_rest]
        assert [score for _, score in over_edge] == pytest.approx([score for _, score in over_rest], abs=0.02)


async def _indexed(service: Service) -> None:
    """Empty the outbox, so that recalls find by the index alone what they find by vectors."""
    service.runtime.backends.acknowledgements.wake()
    await service.runtime.indexer.round()
