"""Asks the golden questions of tenants, as the data is served and as a candidate would serve it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from app.domain.embedding import EmbeddingConfig
from app.domain.golden import GoldenAnswer, GoldenComparison, GoldenQuestion
from app.ports.reader import Reader
from app.retrieval.weights import WEIGHTS, Weights
from app.runtime.runtime import Runtime
from app.services.golden.questions import GoldenQuestions, on_config
from app.storage.system import golden


@dataclass(frozen=True, slots=True)
class GoldenSide:
    """A way to answer recalls. By default: as the data is served."""

    config: EmbeddingConfig | None = None
    """The embedding config whose index is searched; None: the one in use."""
    reader: Reader | None = None
    """The reader in place of the service's own; None: its own."""
    weights: Weights = WEIGHTS

    async def ask(
        self, runtime: Runtime, questions: Sequence[GoldenQuestion], report: Callable[[], None] = lambda: None
    ) -> list[GoldenAnswer]:
        """Ask questions of one tenant, who lives in the runtime's shard.

        Raises:
            EmbeddingConfigMismatch: this process cannot embed with the config.
            LongTermDisabled: an agent's long-term memory is switched off.
            Unavailable: a part of a recall does not answer.
        """
        backends = runtime.backends if self.reader is None else replace(runtime.backends, reader=self.reader)
        of_tenant = backends.of_tenant(questions[0].tenant_id)
        if self.config is not None:
            await backends.scales.find(self.config, backends.embedder_of(self.config))
            of_tenant = on_config(of_tenant, self.config)
        return await GoldenQuestions(of_tenant).ask(questions, report, weights=self.weights)


async def compare_sides(
    runtime: Runtime, questions: Sequence[GoldenQuestion], before: GoldenSide, after: GoldenSide
) -> GoldenComparison:
    """Ask both sides the questions of tenants who live in the runtime's shard; raises as ``GoldenSide.ask`` does."""
    sides: list[list[GoldenAnswer]] = []
    for side in (before, after):
        answers: list[GoldenAnswer] = []
        for _, of_tenant in groupby(sorted(questions, key=attrgetter("tenant_id")), attrgetter("tenant_id")):
            answers += await side.ask(runtime, list(of_tenant))
        sides.append(answers)
    return GoldenComparison(*sides)


def golden_questions(runtime: Runtime, tenant_id: str) -> GoldenQuestions:
    """Return the service that keeps the golden questions of a tenant, who lives in the runtime's shard."""
    return GoldenQuestions(runtime.backends.of_tenant(tenant_id))


async def tenants_with_questions(runtime: Runtime) -> list[str]:
    """Return the tenants of a shard that have golden questions.

    Raises:
        Unavailable: the database does not answer.
    """
    (rows,) = await runtime.backends.database.run([golden.TENANTS])
    return golden.read_tenants(rows)
