"""Takes an ingestion through its stages, again and again until it is finished, even where an attempt fails."""

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import structlog

from app.domain.errors import (
    AccessRefused,
    Conflict,
    Erasing,
    MemoryGatewayError,
    QuotaExceeded,
    TenantMoved,
    Unavailable,
)
from app.ports.database import Row
from app.services.ingest.adopt import Adopt
from app.services.ingest.classify import Classify
from app.services.ingest.extract import Extract
from app.services.ingest.learn import Learn
from app.services.ingest.plan import PassPlan
from app.services.ingest.turns import TurnWriting
from app.services.ingest.verify import Verify
from app.services.ingest.work import IngestionWork, LeaseLost, Stage
from app.storage.ingestions import Ingestion, ingestion
from app.storage.scoped import ScopedStatement

STAGES: Final[Sequence[Stage]] = (
    Adopt(planned=False),
    PassPlan(),
    Adopt(planned=True),
    TurnWriting(),
    Extract(),
    Verify(),
    Classify(),
    Learn(),
)
"""The stages that follow once the messages are taken (``app.services.ingest.messages``), in this order."""

_FIRST_PAUSE, _LAST_PAUSE = 0.2, 30.0
"""Seconds between two attempts to get the lease of a session that another ingestion holds."""
_WITHOUT_DATABASE = 10.0
"""Seconds until the next attempt where the database cannot be told of that attempt."""
_GIVE_UP_MS = 7 * 24 * 3600 * 1000
"""The age from which on an ingestion fails with the error that keeps it from going on."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of an attempt."""

    finished: bool = False
    ingestion: Ingestion | None = None
    """The ingestion as the attempt left it; None where the attempt stopped before the end, or the agent was erased."""
    error: MemoryGatewayError | None = None
    """The error with which the ingestion has failed."""
    seconds: float | None = None
    """Seconds until the next attempt, where the last had an error; None: the next begins once the session is free."""
    moved: bool = False
    """Whether the tenant lives in another shard, where the ingestion goes on, or is just moving there."""
    free_in: float = math.inf
    """Seconds until another holder's lease on the session ends, unless that lease is renewed."""


_ERASED: Final = Attempt(finished=True, error=Erasing("The agent, or its tenant, was erased meanwhile."))


class Operation:
    """One ingestion that this process takes to its end."""

    def __init__(self, work: IngestionWork, *, claimed: bool = False, stages: Sequence[Stage] = STAGES) -> None:
        """Take the ingestion's work; ``claimed``: its lease is held already."""
        self._work = work
        self._claimed = claimed
        self._stages = stages
        self.put_off = asyncio.Event()
        """Set once an attempt had an error after which the ingestion goes on later, such as ``Unavailable``."""

    async def run(self) -> Attempt:
        """Attempt the ingestion until it is finished, or goes on in another shard, and return the last attempt."""
        pause = _FIRST_PAUSE
        while not ((attempt := await self.attempt()).finished or attempt.moved):
            if attempt.seconds is not None:
                self.put_off.set()
            await asyncio.sleep(min(pause, attempt.free_in) if attempt.seconds is None else attempt.seconds)
            pause = min(2 * pause, _LAST_PAUSE)
        return attempt

    async def attempt(self, *, adopts: bool = False) -> Attempt:
        """Do as much as can be done now. ``adopts``: the process that took the messages has stopped."""
        try:
            return await self._through(adopts=adopts)
        except LeaseLost:
            return Attempt()
        except TenantMoved:
            return Attempt(moved=True)
        except (AccessRefused, Conflict, QuotaExceeded) as error:
            if isinstance(error, QuotaExceeded) and error.retry_after is not None:  # a limit of each minute
                return await self._later(error, float(error.retry_after))
            return await self._failed(error)
        except asyncio.CancelledError:
            with suppress(Exception):
                await self._run([self._work.own.put_off(self._work.holder, 0)])
            raise
        except Exception as error:  # noqa: BLE001 - a defect is logged, and must not lose what was taken
            return await self._later(error, None)
        finally:
            self._claimed = False

    async def _through(self, *, adopts: bool) -> Attempt:
        """Go through the stages; raises as ``Stage`` says."""
        own = self._work.own
        if not self._claimed:
            adopt = [own.adopt()] if adopts else []
            claim = [own.claim(self._work.holder), own.free_in(self._work.holder), own.read()]
            *_, claimed, (free,), rows = await self._run([*adopt, *claim])
            if not rows:
                return _ERASED
            found = ingestion(rows[0])
            if found.finished_at is not None:
                return Attempt(finished=True, ingestion=found)
            if not claimed:
                return Attempt(free_in=max(_FIRST_PAUSE, int(free["milliseconds"] or 0) / 1000))
            if found.failure is not None and not found.learns:  # its process stopped before the end
                return await self._fail(found.failure)
            self._work.learns, self._work.planned = found.learns, found.planned_at is not None
        self._work.lost = False
        async with self._work.renewing():
            for stage in self._stages:
                await stage.run(self._work)
        *_, rows = await self._run(own.finish())
        if not rows:
            return _ERASED
        ended = ingestion(rows[0])
        return Attempt(finished=ended.finished_at is not None, ingestion=ended)

    async def _later(self, error: Exception, seconds: float | None) -> Attempt:
        """Put the ingestion off, or fail it with the error where it is older than ``_GIVE_UP_MS``."""
        log = structlog.get_logger()
        code = error.code if isinstance(error, MemoryGatewayError) else MemoryGatewayError.code
        if isinstance(error, Unavailable | QuotaExceeded):
            log.warning("ingestion_waits", code=code, reason=error.detail)
        else:
            log.error("background_failed", exc_info=error)
        try:
            ((row,),) = await self._run([self._work.own.put_off(self._work.holder, seconds)])
            if int(row["age_ms"] or 0) > _GIVE_UP_MS:
                return await self._fail(code)
        except (Unavailable, ValueError):  # or the lease was lost
            return Attempt(seconds=_WITHOUT_DATABASE)
        return Attempt(seconds=int(row["pause_ms"] or 0) / 1000)

    async def _failed(self, error: MemoryGatewayError) -> Attempt:
        """Finish the ingestion with an error that no later attempt can mend."""
        try:
            failed = await self._fail(error.code)
        except Unavailable as unavailable:
            return await self._later(unavailable, None)
        return replace(failed, error=error)

    async def _fail(self, code: str) -> Attempt:
        *_, rows = await self._run(self._work.own.fail(code))
        return Attempt(finished=True, ingestion=ingestion(rows[0])) if rows else _ERASED

    async def _run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        return await self._work.backends.data.database.run(statements)
