"""When readiness is looked at again."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import DatabaseUnavailable, ReaderUnavailable, StorageFull
from app.runtime.backends import Backends
from app.runtime.checks import Checks
from tests.services.scripted_reader import ScriptedReader
from tests.support.doubles import FailingDatabase
from tests.support.service import serving


class Watched:
    """Checks of a service whose database may fail, on a clock that is set by hand; results hold for 30 seconds."""

    def __init__(self, backends: Backends) -> None:
        self.now = 100.0
        self.database = FailingDatabase(backends.database)
        self.backends = replace(backends, database=self.database, check_room=self.check_room)
        self.full = False
        self.writes = 0
        config = backends.embedder.config
        self.checks = Checks(self.backends, lambda: config, lambda: None, 30, lambda: self.now)

    def fail(self) -> None:
        self.database.error = DatabaseUnavailable("It is away.")

    def recover(self) -> None:
        self.database.error = None

    async def check_room(self) -> None:
        self.writes += 1
        if self.full:
            raise StorageFull("The disk is full.")

    async def ready(self) -> bool:
        return all(part.error is None for part in await self.checks.parts())

    async def ready_after(self, *, limit: float = 60) -> float:
        """Ask ten times a second until the service is ready; return after how many seconds it is."""
        began = self.now
        while not await self.ready() and self.now < began + limit:
            self.now += 0.1
        return self.now - began


async def test_a_check_that_failed_is_made_again_after_a_second_then_less_often(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        watched = Watched(service.runtime.backends)
        watched.fail()
        assert not await watched.ready()
        watched.recover()
        assert await watched.ready_after() == pytest.approx(1, abs=0.2)

        watched.now += 31
        watched.fail()
        assert await watched.ready_after(limit=100) >= 100
        watched.recover()
        assert 2 < await watched.ready_after() <= 30.2


async def test_once_a_request_was_answered_the_service_is_ready_a_second_later_however_long_it_was_not(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service:
        watched = Watched(service.runtime.backends)
        watched.fail()
        await watched.ready_after(limit=100)
        watched.recover()
        watched.backends.last_answer.at = watched.now + 0.01
        assert await watched.ready_after() <= 1.2


async def test_an_answered_request_is_what_the_service_itself_notes(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        before = service.runtime.backends.last_answer.at
        await service.post("/recall", {"agent_id": "bot", "query": "anything"})
        recalled = service.runtime.backends.last_answer.at
        await service.post("/store", {"agent_id": "bot", "content": "The fox is red."})
        assert before < recalled < service.runtime.backends.last_answer.at


async def test_a_success_holds_and_is_not_asked_for_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        watched = Watched(service.runtime.backends)
        assert await watched.ready()
        watched.now += 29
        watched.full = True
        assert await watched.ready()
        watched.now += 2
        assert not await watched.ready()


async def test_a_database_that_cannot_grow_is_not_ready_and_is_written_to_once_a_second(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        watched = Watched(service.runtime.backends)
        watched.checks = Checks(watched.backends, lambda: service.runtime.config, lambda: None, 0, lambda: watched.now)
        watched.full = True
        (error,) = {part.error.code for part in await watched.checks.parts() if part.error is not None}
        assert error == "storage_full"
        for _ in range(20):
            assert not await watched.ready()
        assert watched.writes == 1
        watched.full = False
        assert await watched.ready_after() == pytest.approx(1, abs=0.2)


async def test_the_reader_is_a_part_that_requests_do_without(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        backends = service.runtime.backends
        config = backends.embedder.config
        reader = ScriptedReader()
        checks = Checks(replace(backends, reader=reader), lambda: config, lambda: None, 0)
        (part,) = [part for part in await checks.parts() if part.name == "reader"]
        assert (part.backend, part.needed_by, part.error) == (reader.version, "none", None)
        reader.error = ReaderUnavailable("It is closed.")
        (part,) = [part for part in await checks.parts() if part.name == "reader"]
        assert (part.needed_by, part.error) == ("none", reader.error)
        without = Checks(replace(backends, reader=None), lambda: config, lambda: None, 0)
        assert "reader" not in [part.name for part in await without.parts()]
