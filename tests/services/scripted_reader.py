"""A reader that answers what a test has written down."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.errors import ReaderUnavailable
from app.domain.reading import Kinds, Relation, Thresholds

THRESHOLDS = Thresholds(hide=0.9, newer_first=0.6, same_frame=0.6, tells=0.5, follows=0.5, task=0.8)
HOLDS = Relation(0.97, 0.01, 0.01, 0.01)
REPLACES = Relation(0.01, 0.97, 0.01, 0.01)
DOUBTFUL = Relation(0.2, 0.7, 0.05, 0.05)
"""Between the two thresholds: the newer statement comes first, and nothing is hidden."""
RESTATES = Relation(0.01, 0.01, 0.01, 0.97)
FACT = Kinds(0.97, 0.01, 0.01, 0.01)
EVENT = Kinds(0.01, 0.97, 0.01, 0.01)
INSTRUCTION = Kinds(0.01, 0.01, 0.97, 0.01)
TASK = Kinds(0.01, 0.01, 0.01, 0.97)


@dataclass
class ScriptedReader:
    """Gives pairs and texts what its script says of them, else that both hold, and that it is a fact.

    It fails or waits when it is told to.
    """

    pairs: Mapping[tuple[str, str], Relation] = field(default_factory=dict)
    """By the older and the newer text."""
    of_kinds: Mapping[str, Kinds] = field(default_factory=dict)
    answers: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """By the question and the text."""
    claims: Mapping[tuple[str, str], float] = field(default_factory=dict)
    version: str = "scripted-1"
    thresholds: Thresholds = THRESHOLDS
    update: bool = False
    """Whether it takes every pair for an update."""
    error: Exception | None = None
    unreadable: Mapping[str, Exception] = field(default_factory=dict)
    """Texts of which the kind cannot be read."""
    waits: bool = False
    meanwhile: Callable[[], Awaitable[object]] | None = None
    """What happens once while kinds are read."""
    compared: list[tuple[str, str]] = field(default_factory=list)
    """The pairs that it was asked about, in order."""
    tenants: list[str] = field(default_factory=list)

    async def relations(
        self, pairs: Sequence[tuple[str, str]], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[Relation]:
        await self._begin(tenant_id, seconds)
        self.compared += pairs
        return [self.relation(older, newer) for older, newer in pairs]

    def relation(self, older: str, newer: str) -> Relation:
        return REPLACES if self.update else self.pairs.get((older, newer), HOLDS)

    async def relevance(
        self, question: str, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        await self._begin(tenant_id, seconds)
        return [self.answers.get((question, text), 0.0) for text in texts]

    async def kinds(
        self, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[Kinds]:
        await self._begin(tenant_id, seconds)
        if self.meanwhile is not None:
            happens, self.meanwhile = self.meanwhile, None
            await happens()
        for text in texts:
            if text in self.unreadable:
                raise self.unreadable[text]
        return [self.of_kinds.get(text, FACT) for text in texts]

    async def follows(
        self, claims: Sequence[tuple[str, str]], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        await self._begin(tenant_id, seconds)
        return [self.claims.get(claim, 0.0) for claim in claims]

    async def ping(self) -> None:
        if self.error is not None:
            raise self.error

    async def _begin(self, tenant_id: str, seconds: float | None) -> None:
        self.tenants.append(tenant_id)
        try:
            async with asyncio.timeout(seconds):
                while self.waits:
                    await asyncio.sleep(0.001)
        except TimeoutError as error:
            raise ReaderUnavailable("The reader had no time to read.") from error
        if self.error is not None:
            raise self.error
