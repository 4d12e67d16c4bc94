"""What a process has noted of a tenant, and writes when the tenant has left the shard."""

import json
from pathlib import Path

import pytest

from app.domain.audit import RecallNote
from app.domain.shards import MAIN
from app.ports.language_model import Spent
from app.runtime.language_model import write_spend
from app.runtime.moving import move_tenant
from app.runtime.recall_log import write_recalls
from app.runtime.runtime import Runtime
from tests.runtime.test_moving import moved, nothing_in_the_background
from tests.support.service import Service
from tests.support.sharded import placed, sharded
from tests.support.tables import column_of, rows_of

__all__ = ["nothing_in_the_background"]
pytestmark = pytest.mark.usefixtures("nothing_in_the_background")

_EAST = "east"


def _note(runtime: Runtime, *entries: str, tenant: str = "acme") -> None:
    runtime.backends.recall_log.add(RecallNote(tenant, "bot", "http", entries=entries))


async def _notes(runtime: Runtime, tenant: str = "acme") -> list[list[str]]:
    """Return the entries of each recall that a shard has in the audit of a tenant."""
    found = await rows_of(runtime, "recall_log", "detail", by="id", tenant_id=tenant)
    return [json.loads(str(row["detail"]))["entries"] for row in found]


async def _stopped(service: Service, to: str, when: str) -> None:
    """Move the tenant, and stop at a step, as if the process had been killed a minute ago."""

    def stop(told: str) -> None:
        if told.startswith(when):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await move_tenant(service.shards, "acme", to, stop, poll_seconds=0, linger_seconds=0)
    service.later(60)


async def test_a_recall_is_in_the_audit_of_the_new_shard_if_it_is_written_while_the_old_rows_are_kept(
    tmp_path: Path,
) -> None:
    async with sharded(tmp_path) as service:
        main, east = (service.shards.runtimes[name] for name in (MAIN, _EAST))
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        _note(main, "before")
        await _stopped(service, _EAST, "east serves the tenant now")
        await write_recalls(main.backends)
        await moved(service, "acme", _EAST)
        assert (await _notes(main), await _notes(east)) == ([], [["before"]])


async def test_a_recall_that_is_written_after_the_old_rows_were_deleted_leaves_no_row_and_is_counted(
    tmp_path: Path,
) -> None:
    async with sharded(tmp_path) as service:
        main, east = (service.shards.runtimes[name] for name in (MAIN, _EAST))
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        for tenant in ("acme", "globex"):
            _note(main, "before", tenant=tenant)
        await moved(service, "acme", _EAST)
        before = _dropped(service)
        await write_recalls(main.backends)
        assert (await _notes(main), await _notes(east)) == ([], [])
        assert await _notes(main, "globex") == [["before"]]
        assert _dropped(service) == before + 1
        assert len(main.backends.recall_log) == 0
        await moved(service, "acme", MAIN)
        _note(main, "after")
        await write_recalls(main.backends)
        assert await _notes(main) == [["after"]]


@pytest.mark.parametrize("given_up", [False, True])
async def test_nothing_that_was_noted_is_written_where_a_tenant_arrives_or_did_not_arrive(
    tmp_path: Path, *, given_up: bool
) -> None:
    async with sharded(tmp_path) as service:
        east = service.shards.runtimes[_EAST]
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        await _stopped(service, _EAST, "compared all rows")
        if given_up:
            await moved(service, "acme", MAIN)
        _note(east, "early")
        _spend(east)
        await write_recalls(east.backends)
        await write_spend(east.backends)
        assert (await _notes(east), await _spent(east)) == ([], [])
        assert _dropped(service) == 1


async def test_what_models_have_cost_is_not_written_where_the_tenant_lived_before(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        main = service.shards.runtimes[MAIN]
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        for tenant in ("acme", "globex"):
            _spend(main, tenant)
        await moved(service, "acme", _EAST)
        await write_spend(main.backends)
        assert await _spent(main) == ["globex"]


def _spend(runtime: Runtime, tenant: str = "acme") -> None:
    runtime.backends.model_spend.add(tenant, Spent("analyse", "a-model", 10), runtime.backends.clock())


async def _spent(runtime: Runtime) -> list[object]:
    return await column_of(runtime, "model_spend", "tenant_id")


def _dropped(service: Service) -> float:
    return service.runtime.metrics.registry.get_sample_value("memory_gateway_recalls_dropped_total") or 0.0
