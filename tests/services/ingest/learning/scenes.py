"""A profile whose messages a scripted model reads."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.domain.author import Author
from app.domain.messages import NewMessage
from app.ports.reader import Reader
from app.services.ingest.ingester import Ingester
from app.services.tenant.backends import TenantBackends
from app.storage.ingestions import Ingestion
from app.storage.learning_report import LearningReport
from tests.services.believing_reader import BelievingReader
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import contents
from tests.support.scripted_model import ScriptedModel
from tests.support.tables import ANY, Asked

DAY = 86_400_000
SAID_AT = 1_780_000_000_000


def user(*contents: str, at: int = SAID_AT) -> list[NewMessage]:
    """Return messages of a user, a second apart."""
    return [NewMessage("user", content, at + 1000 * number) for number, content in enumerate(contents)]


@dataclass
class Scene:
    """A bench, and the model that it has."""

    bench: Bench
    model: ScriptedModel
    reader: Reader = field(default_factory=BelievingReader)

    def of_tenant(self, author: Author = ADMINISTRATOR, tenant: str = "acme", **others: Any) -> TenantBackends:
        backends: TenantBackends = replace(
            self.bench.backends, **{"model": self.model, "reader": self.reader, **others}
        ).of_tenant(tenant, author)
        return backends

    @property
    def ingester(self) -> Ingester:
        return Ingester(self.of_tenant())

    async def ingest(self, messages: Sequence[NewMessage], session: str = "s") -> Ingestion:
        """Ingest, and return the answer as soon as the messages are memories."""
        return await self.ingester.ingest("bot", messages, session)

    async def ended(self, ingestion: Ingestion, seconds: float = 60) -> Ingestion:
        """Return an ingestion once it has ended."""
        assert ingestion.id is not None
        async with asyncio.timeout(seconds):
            while (found := await self.ingester.ingestion("bot", ingestion.id)).finished_at is None:
                await asyncio.sleep(0.01)
        return found

    async def learned(self, messages: Sequence[NewMessage], session: str = "s") -> LearningReport:
        """Ingest, and return what was learned in the end."""
        return await self.report(await self.ingest(messages, session))

    async def report(self, ingestion: Ingestion, seconds: float = 60) -> LearningReport:
        report = await self.ingester.learning(await self.ended(ingestion, seconds))
        assert report is not None
        return report

    async def texts(self, **where: Asked) -> list[str]:
        """Return what was learned, or the memories of these values, in the order of their times."""
        return await contents(self.bench, by="occurred_at, content", **(where or {"learned": ANY}))


@asynccontextmanager
async def scene(data_dir: Path, model: ScriptedModel | None = None, **settings: Any) -> AsyncIterator[Scene]:
    async with bench_on(data_dir, **settings) as bench:
        yield Scene(bench, model or ScriptedModel())
