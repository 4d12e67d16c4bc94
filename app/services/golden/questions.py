"""The golden questions of one tenant: kept, listed, removed, and asked."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
from app.domain.errors import InvalidRequest
from app.domain.golden import GoldenAnswer, GoldenQuestion
from app.domain.memory import Scope
from app.domain.query import Query
from app.retrieval.weights import WEIGHTS, Weights
from app.services.golden.judging import last_rank
from app.services.memories.recall import Recall, search, select
from app.services.tenant.backends import TenantBackends, settled
from app.services.tenant.writing import write
from app.storage import golden
from app.storage.golden import StoredQuestion

MOST_QUESTIONS = 10_000
"""The most questions that a tenant may have."""


class GoldenQuestions:
    """The golden questions of one tenant. An operator keeps them; no credential reads or writes them."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends; they bind the tenant."""
        self._backends = backends
        self._tenant = backends.tenant_id

    async def stored(self) -> Sequence[StoredQuestion]:
        """Return the questions that are kept, by agent and id.

        Raises:
            Unavailable: the database does not answer.
        """
        (rows,) = await self._backends.data.database.run([golden.read(self._tenant)])
        return golden.read_stored(rows)

    async def keep(self, questions: Sequence[StoredQuestion]) -> None:
        """Keep questions; one with the agent and the id of another takes its place.

        Raises:
            InvalidRequest: the tenant would have more than it may.
            Erasing: one of the agents, or the tenant, is being erased.
            Unavailable: the database does not answer; keeping them again is safe.
        """
        held = {(one.agent_id, one.id) for one in await self.stored()}
        if len(held | {(one.agent_id, one.id) for one in questions}) > MOST_QUESTIONS:
            raise InvalidRequest(f"A tenant may have {MOST_QUESTIONS} golden questions.")
        for agent_id in sorted({one.agent_id for one in questions}):
            scope = Scope(self._tenant, agent_id)
            of_agent = [one for one in questions if one.agent_id == agent_id]
            for start in range(0, len(of_agent), golden.MAX_WRITTEN):
                statement = golden.put(scope, of_agent[start : start + golden.MAX_WRITTEN])
                await write(self._backends, scope, [statement], kind="upkeep")

    async def remove(self) -> int:
        """Remove all questions of the tenant; return how many there were.

        Raises:
            Unavailable: the database does not answer; removing them again is safe.
        """
        (rows,) = await self._backends.data.database.run([golden.remove(self._tenant)])
        return len(rows)

    async def check_gold(self, questions: Sequence[GoldenQuestion]) -> None:
        """Check that the agents have the memories which the questions name by their ids.

        Raises:
            InvalidRequest: one does not; the message names the question and the memory.
            Unavailable: the database does not answer.
        """
        for question in questions:
            if not question.gold:
                continue
            scope = Scope(self._tenant, question.agent_id)
            (rows,) = await self._backends.data.database.run([golden.existing(scope, question.gold)])
            missing = set(question.gold) - {str(row["id"]) for row in rows}
            if missing:
                raise InvalidRequest(
                    f"The question {question.id} names the memory {min(missing)}, "
                    f"which the agent {question.agent_id} of {self._tenant} does not have."
                )

    async def ask(
        self,
        questions: Sequence[GoldenQuestion],
        report: Callable[[], None] = lambda: None,
        *,
        weights: Weights = WEIGHTS,
    ) -> list[GoldenAnswer]:
        """Ask each question as a recall does, and return how it came off. Nothing is counted and nothing noted.

        ``weights``: the numbers of which the scores are made.

        Raises:
            LongTermDisabled: an agent's long-term memory is switched off.
            Unavailable: a part of a recall does not answer: what is not found then would tell nothing.
        """
        answers = []
        for question in questions:
            scope = Scope(self._tenant, question.agent_id)
            query = Query(question.text, top_k=question.k, where=question.where, strict=True)
            found = await uncounted_recall(self._backends, scope, query, weights)
            answers.append(GoldenAnswer(question, last_rank(question, found.entries)))
            report()
        return answers


async def uncounted_recall(backends: TenantBackends, scope: Scope, query: Query, weights: Weights = WEIGHTS) -> Recall:
    """Return what a recall finds; nothing is counted and nothing noted.

    Raises:
        LongTermDisabled: the agent's long-term memory is switched off.
        Unavailable: there is no answer, or the query is strict and a part of the recall does not answer.
    """
    return select(await settled(partial(search, backends, scope, query, weights=weights)), query)


def on_config(backends: TenantBackends, config: EmbeddingConfig) -> TenantBackends:
    """Return the backends by which recalls search the index of a config, as if it were the one in use."""
    pinned = EmbeddingConfigs(config)
    return replace(backends, data=replace(backends.data, seen_configs=lambda: pinned, observe=lambda _: pinned))
