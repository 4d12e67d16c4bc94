"""Each run of a tenant checks where it lives, if there is more than one place."""

from collections.abc import Sequence

import pytest

from app.domain.errors import TenantMoved
from app.domain.memory import Tenant
from app.ports.database import Row, RunRefused, Statement
from app.storage.presence import Presence
from app.storage.scoped import ScopedStatement, TenantDatabase

_ACME = Tenant("acme")
_READ = ScopedStatement.read(_ACME, "SELECT 1 AS one")
_WRITE = ScopedStatement.write(_ACME, "DELETE FROM usage")


class Recorded:
    """A database where the tenant lives with epoch 3; it notes what it is given, and may refuse it."""

    backend = "recorded"
    history_days = 0

    def __init__(self, refuses: str | None = None) -> None:
        self.runs: list[int] = []
        self._refuses = refuses

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.runs.append(len(statements))
        if self._refuses is not None:
            raise RunRefused(self._refuses)
        return [[{"one": 1, "epoch": 3}] for _ in statements]

    async def ping(self) -> None:
        pass

    async def purge_log(self) -> bool:
        return True


@pytest.mark.parametrize(("sharded", "statements"), [(False, 1), (True, 2)])
async def test_one_statement_is_added_to_a_run_and_none_without_shards(sharded: bool, statements: int) -> None:  # noqa: FBT001
    database = Recorded()
    tenant = TenantDatabase("acme", database, presence=Presence(checked=sharded, epoch_of=lambda _: 3))
    assert await tenant.run([_READ]) == await tenant.run([_WRITE]) == [[{"one": 1, "epoch": 3}]]
    assert database.runs == [statements, statements]


async def test_a_read_with_another_epoch_is_no_answer_and_the_process_is_told() -> None:
    told: list[str] = []
    tenant = TenantDatabase(
        "acme", Recorded(), presence=Presence(checked=True, epoch_of=lambda _: 2, moved=told.append)
    )
    with pytest.raises(TenantMoved) as moved:
        await tenant.run([_READ])
    assert (moved.value.repeatable, told) == (True, ["acme"])


@pytest.mark.parametrize(("reason", "repeatable", "told"), [("moved", True, ["acme"]), ("moving", False, [])])
async def test_a_write_that_is_refused_says_whether_it_may_be_made_again(
    reason: str,
    repeatable: bool,  # noqa: FBT001
    told: list[str],
) -> None:
    heard: list[str] = []
    tenant = TenantDatabase(
        "acme", Recorded(reason), presence=Presence(checked=True, epoch_of=lambda _: 3, moved=heard.append)
    )
    with pytest.raises(TenantMoved) as moved:
        await tenant.run([_WRITE])
    assert (moved.value.repeatable, heard) == (repeatable, told)


async def test_a_request_that_has_written_is_not_made_again() -> None:
    epoch = [3]
    tenant = TenantDatabase("acme", Recorded(), presence=Presence(checked=True, epoch_of=lambda _: epoch[0]))
    await tenant.run([_WRITE])
    epoch[0] = 2
    with pytest.raises(TenantMoved) as moved:
        await tenant.run([_READ])
    assert not moved.value.repeatable
