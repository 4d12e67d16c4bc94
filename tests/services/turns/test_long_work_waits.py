"""Which requests long work waits for."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.domain.errors import EmbeddingUnavailable
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.ports.embedder import Embedder, Embeddings, Purpose
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.turns.admission import Admission, TenantAdmission
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on


@dataclass
class _Looking:
    """An embedder that notes how many requests long work waits for while it embeds."""

    inner: Embedder
    under_way: int = 0
    seen: list[int] = field(default_factory=list)
    error: Exception | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        self.seen.append(self.under_way)
        if self.error is not None:
            raise self.error
        return await self.inner.embed(texts, purpose, tenant_id=tenant_id)

    @contextmanager
    def request(self) -> Iterator[None]:
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1


@dataclass
class _Counting:
    """An admission whose requests that are under way the embedder counts."""

    inner: TenantAdmission
    looking: _Looking

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def request(self) -> AbstractContextManager[None]:
        return self.looking.request()


def _gateway(bench: Bench, looking: _Looking) -> LongTermMemoryGateway:
    backends = replace(bench.backends, embedder=looking).of_tenant("acme", ADMINISTRATOR)
    admission = TenantAdmission("acme", bench.backends.admission)
    return LongTermMemoryGateway(replace(backends, admission=_Counting(admission, looking)))


async def test_long_work_waits_for_a_store_and_for_a_recall_while_they_last(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        looking = _Looking(bench.embedder)
        gateway = _gateway(bench, looking)
        await gateway.store("bot", NewMemory("The bill is due on Friday", {}))
        found = await gateway.recall("bot", Query("When is the bill due?"))
        assert len(found.entries) == 1
        assert looking.seen == [1, 1]
        assert looking.under_way == 0


async def test_a_store_that_fails_is_waited_for_no_longer(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        looking = _Looking(bench.embedder, error=EmbeddingUnavailable("It is away."))
        with pytest.raises(EmbeddingUnavailable):
            await _gateway(bench, looking).store("bot", NewMemory("The bill is due on Friday", {}))
        assert looking.seen == [1]
        assert looking.under_way == 0


async def test_the_long_work_of_one_tenant_waits_for_the_requests_of_another(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        backends = replace(bench.backends, admission=Admission(patience_seconds=3600))
        began: list[str] = []

        async def work() -> None:
            await backends.of_tenant("loud").admission.part()
            began.append("loud")

        with backends.of_tenant("quiet").admission.request():
            working = asyncio.create_task(work())
            for _ in range(10):
                await asyncio.sleep(0)
            assert not began
        await working
