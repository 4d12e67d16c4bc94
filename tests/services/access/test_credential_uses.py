"""The uses of credentials: noted without a call on the way of a request, and written later."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import DatabaseUnavailable
from app.ports.database import Database, Row, Statement
from app.runtime.backends import Backends
from app.runtime.credential_uses import write_uses
from app.runtime.moving import move_tenant
from app.services.access.credentials import Principal
from app.services.access.revocations import USE_MS, CredentialUses
from tests.support.service import serving
from tests.support.sharded import placed, sharded
from tests.support.tables import column_of

NOW = 1_790_000_000_000


def own(credential_id: str, tenant_id: str = "acme") -> Principal:
    return Principal(tenant_id, credential_id=credential_id, issued_at=NOW, registered=True)


def ids(uses: CredentialUses, most: int = 100) -> list[str | None]:
    return [use.principal.credential_id for use in uses.take(most)]


def test_a_use_is_noted_once_an_hour_however_often_the_credential_is_used() -> None:
    uses = CredentialUses()
    for now in (NOW, NOW + 1, NOW + USE_MS - 1):
        uses.note(own("a"), now)
    assert ids(uses) == ["a"]
    uses.note(own("a"), NOW + USE_MS - 1)
    assert ids(uses) == []
    uses.note(own("a"), NOW + USE_MS)
    uses.note(own("a", "globex"), NOW + USE_MS)
    assert ids(uses) == ["a", "a"]


def test_what_another_issuer_has_signed_and_what_has_no_credential_is_not_noted() -> None:
    uses = CredentialUses()
    uses.note(Principal("acme"), NOW)
    uses.note(Principal("acme", credential_id="oidc:ann", issued_at=NOW), NOW)
    assert ids(uses) == []


def test_so_many_uses_wait_at_most_and_none_is_forgotten_for_an_hour_for_it() -> None:
    uses = CredentialUses(most=3)
    for number in range(5):
        uses.note(own(str(number)), NOW)
    assert ids(uses, most=2) == ["0", "1"]
    uses.note(own("3"), NOW + 1)  # there was no room, so it is noted at its next use
    assert ids(uses) == ["2", "3"]


def test_uses_that_could_not_be_written_wait_again() -> None:
    uses = CredentialUses()
    for credential in "ab":
        uses.note(own(credential), NOW)
    taken = uses.take(100)
    uses.restore(taken)
    assert sorted(str(each) for each in ids(uses)) == ["a", "b"]


class Journal:
    """A database that counts its runs, and may be away."""

    def __init__(self, real: Database) -> None:
        self._real = real
        self.runs: list[str] = []
        self.away = False

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        if self.away:
            raise DatabaseUnavailable("The database is away.")
        self.runs.append(" ".join(statement.sql for statement in statements))
        return await self._real.run(statements)

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


async def test_no_request_makes_a_call_for_its_credential_and_one_later_writes_all_uses(tmp_path: Path) -> None:
    journals: list[Journal] = []

    def change(backends: Backends) -> Backends:
        journals.append(Journal(backends.database))
        return replace(backends, database=journals[0])  # type: ignore[arg-type]

    async with serving(tmp_path, change=change) as service:
        (journal,) = journals
        await service.store("Ann drinks tea.")
        await service.recall("tea")
        assert not [run for run in journal.runs if "INTO credential" in run]
        await write_uses(service.runtime.backends)
        assert len([run for run in journal.runs if "INTO credential" in run]) == 1
        before = len(journal.runs)
        await write_uses(service.runtime.backends)
        assert len(journal.runs) == before
        assert len(await column_of(service.runtime, "credential", "id")) == 2
        await service.recall("tea")
        journal.away = True
        with pytest.raises(DatabaseUnavailable):
            await write_uses(service.runtime.backends)
        journal.away = False
        await write_uses(service.runtime.backends)
        assert len(await column_of(service.runtime, "credential", "id")) == 3


async def test_what_waits_when_the_service_ends_is_written(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.recall("tea")
    async with serving(tmp_path) as service:
        assert len(await column_of(service.runtime, "credential", "id")) == 1


async def test_a_use_is_dated_by_when_it_was_and_not_by_when_it_is_written(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        used = service.runtime.backends.clock()
        await service.recall("tea")
        service.later(1800)
        await write_uses(service.runtime.backends)
        (told,) = await column_of(service.runtime, "credential", "last_used_at")
        assert abs(told - used) < 60_000


async def test_a_use_is_written_where_its_tenant_lives(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", "east")
        await service.recall("tea")
        for runtime in service.shards.runtimes.values():
            await write_uses(runtime.backends)
        found = {
            name: await column_of(each, "credential", "tenant_id") for name, each in service.shards.runtimes.items()
        }
        assert found == {"main": [], "east": ["acme"]}


async def test_a_use_that_waits_where_its_tenant_has_left_leaves_no_row_there(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", "main")
        await service.store("Ann drinks tea.")
        await write_uses(service.runtime.backends)
        held = await column_of(service.runtime, "credential", "id")
        await service.recall("tea")
        await move_tenant(service.shards, "acme", "east", lambda _: None, poll_seconds=0, linger_seconds=0)
        await write_uses(service.runtime.backends)
        assert await column_of(service.runtime, "credential", "id") == []
        assert await column_of(service.shards.runtimes["east"], "credential", "id") == held
