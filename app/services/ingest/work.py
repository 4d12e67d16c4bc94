"""The ingestion that a stage works on, and its lease: one ingestion at a time has the lease of a session."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

import structlog
from ulid import ULID

from app.domain.errors import Unavailable
from app.domain.memory import Scope
from app.domain.messages import Message
from app.ports.database import Row, RunRefused
from app.services.models.model_calls import ModelCalls
from app.services.tenant.backends import TenantBackends
from app.storage import lease_rule
from app.storage.ingestions import Ingestions
from app.storage.learning import Learning
from app.storage.messages import Messages
from app.storage.scoped import ScopedStatement

_RENEW_SECONDS = lease_rule.SECONDS / 3


class LeaseLost(Exception):
    """Another holder has the lease of the ingestion now."""


@dataclass(slots=True)
class IngestionWork:
    """One ingestion that this process works on. Each object has its own holder, within a process too."""

    backends: TenantBackends
    scope: Scope
    session_id: str
    ingestion_id: str
    holder: str = field(init=False)
    lost: bool = False
    learns: bool = False
    """Whether a language model is to read the messages."""
    planned: bool = False
    """Whether the passes that the language model is to read are planned."""
    elsewhere: Sequence[Message] = ()
    """Messages that this ingestion has to write and that another ingestion had brought before."""
    taken_over: set[str] = field(default_factory=set)
    """The ids of the messages of ``elsewhere`` that this ingestion has taken over."""
    model: ModelCalls = field(init=False)
    written: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once every message is a memory, and only learning is left."""

    def __post_init__(self) -> None:
        """Name the holder, and make one ``ModelCalls``: where the model is away, it is away for all stages."""
        self.holder = f"{self.backends.process}/{ULID()}"
        self.model = ModelCalls(self.backends.models.model, self.scope.agent_id)

    @property
    def own(self) -> Ingestions:
        """Return the statements over this ingestion."""
        return Ingestions(self.scope, self.session_id, self.ingestion_id)

    @property
    def messages(self) -> Messages:
        """Return the statements over the messages of this ingestion."""
        return Messages(self.scope, self.session_id, self.ingestion_id)

    @property
    def learning(self) -> Learning:
        """Return the statements over the passes and proposals of this ingestion."""
        return Learning(self.scope, self.session_id, self.ingestion_id)

    def check_held(self) -> None:
        """Return while the lease is held.

        Raises:
            LeaseLost: the lease is not held.
        """
        if self.lost:
            raise LeaseLost

    async def run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        """Run statements; they write only while the lease is held.

        Raises:
            LeaseLost: the lease is not held; nothing was written.
        """
        if not any(statement.writes for statement in statements):
            return await self.backends.data.database.run(statements)
        try:
            _, *results = await self.backends.data.database.run([self.own.held(self.holder), *statements])
        except RunRefused as refusal:
            if refusal.reason == "not_held":
                raise LeaseLost from refusal
            raise
        return results

    @asynccontextmanager
    async def renewing(self) -> AsyncIterator[None]:
        """Renew the lease while the block runs."""
        renewing = asyncio.create_task(self._renew(), name="lease")
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing

    async def _renew(self) -> None:
        held_until = asyncio.get_running_loop().time() + lease_rule.SECONDS
        while not self.lost:
            await asyncio.sleep(_RENEW_SECONDS)
            began = asyncio.get_running_loop().time()
            try:
                (renewed,) = await self.backends.data.database.run([self.own.renew(self.holder)])
            except Unavailable as error:
                structlog.get_logger().warning("lease_not_renewed", code=error.code)
                self.lost = began >= held_until
                continue
            held_until = began + lease_rule.SECONDS
            self.lost = not renewed


class Stage(Protocol):
    """A stage of an ingestion. A stage that is run again, after a stop at any point, has the same result."""

    async def run(self, work: IngestionWork) -> None:
        """Do the work of this stage that is left.

        Raises:
            LeaseLost: another holder goes on.
            QuotaExceeded, Conflict, AccessRefused: the work can never be done, unless the quota is one of a minute.
            Unavailable: the work can be done later.
        """
        ...
