"""A language model for one tenant's services: within the tenant's share of calls, and its limits of a day."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from app.domain.errors import UpstreamTimeout
from app.domain.query import RECALL_PART_SECONDS
from app.domain.quotas import ModelUsage
from app.domain.request_note import RequestNote
from app.ports.language_model import LanguageModel, ModelMessage, Schema, Spent, Stage
from app.services.models.spend import DAY_MS, ModelSpend
from app.services.turns.shares import ALL_LEARNING_CALLS, LEARNING_CALLS, RECALL_CALLS, Shares

T = TypeVar("T")

_RECALL_STAGES = {"analyse", "synthesise"}
_SHORTEST = 0.001
"""The least seconds that a call has."""
_AFFINITY_DIGITS = 32


class ModelShares:
    """Shares of calls that each tenant, and all ingestions, make at once. A recall never waits for an ingestion."""

    def __init__(self) -> None:
        """Begin without calls under way."""
        self._learning = Shares(LEARNING_CALLS)
        self._all_learning = asyncio.Semaphore(ALL_LEARNING_CALLS)
        self._recalls = Shares(RECALL_CALLS)

    @asynccontextmanager
    async def take(self, tenant_id: str, stage: Stage, *, in_background: bool = False) -> AsyncIterator[None]:
        """Wait for room for a call of a stage, and hold the room while the block runs.

        A call in the background takes room among the ingestions, whatever its stage.
        """
        if stage in _RECALL_STAGES and not in_background:
            async with self._recalls.take(tenant_id, 1):
                yield
        else:
            async with self._learning.take(tenant_id, 1), self._all_learning:
                yield


@dataclass(frozen=True, slots=True)
class ModelWaits:
    """How long a recall waits for models, in seconds.

    Attributes:
        recall: For all calls together.
        analysis: For the analysis of its query; 0: queries are not analysed.
    """

    recall: float = 8.0
    analysis: float = RECALL_PART_SECONDS


class TenantLanguageModel:
    """Answers one tenant's messages, with one model for each stage."""

    def __init__(
        self,
        tenant_id: str,
        model: LanguageModel,
        spend: ModelSpend,
        shares: ModelShares,
        clock: Callable[[], int],
        waits: ModelWaits | None = None,
        note: RequestNote | None = None,
    ) -> None:
        """Bind the tenant; ``clock`` returns ms since the epoch, ``note`` counts the tokens of one request."""
        self._tenant_id = tenant_id
        self._model = model
        self._spend = spend
        self._shares = shares
        self._clock = clock
        self._note = note or RequestNote()
        self.waits = waits or ModelWaits()

    def name(self, stage: Stage) -> str:
        """Return the name of a stage's model for operators: the provider and the model."""
        return self._model.name(stage)

    async def complete(
        self,
        messages: Sequence[ModelMessage],
        schema: Schema[T],
        *,
        stage: Stage,
        max_tokens: int,
        affinity: str,
        seconds: float | None = None,
        in_background: bool = False,
    ) -> T:
        """Return the answer, read by the schema; see ``LanguageModel.complete``.

        ``affinity`` is the profile. The service is sent a digest of the profile and the tenant, so that profiles of one
        name in two tenants differ, and no name is sent. ``seconds`` includes the wait for the tenant's other calls;
        without it that wait has no limit, and calls of ingestions are made in turn. A call ``in_background`` waits for
        no recall, and no recall waits for it.

        Raises:
            QuotaExceeded: the tenant's calls have cost as much as they may today; no call was made.
            ModelAnswerRejected: the answer has a form that cannot be read, and so has the second answer.
            Unavailable: the model does not answer; the caller decides what to do without it.
        """
        self._spend.check(self._tenant_id, self._clock())
        time = asyncio.get_running_loop().time
        ends = None if seconds is None else time() + seconds
        async with AsyncExitStack() as turn:
            try:
                async with asyncio.timeout_at(ends):
                    await turn.enter_async_context(
                        self._shares.take(self._tenant_id, stage, in_background=in_background)
                    )
            except TimeoutError as error:
                raise UpstreamTimeout("Earlier calls of the tenant kept the language model busy.") from error
            turn.enter_context(self._spend.call(self._tenant_id, self._clock()))  # earlier calls have cost some
            return await self._model.complete(
                messages,
                schema,
                stage=stage,
                max_tokens=max_tokens,
                affinity=self._affinity(affinity),
                seconds=None if ends is None else max(ends - time(), _SHORTEST),
                spent=self._count,
            )

    @property
    def today(self) -> int:
        """The day that calls count for now, in days since the epoch (UTC)."""
        return self._clock() // DAY_MS

    def usage(self, calls: int, tokens: int) -> ModelUsage:
        """Return the tenant's usage of today: the written ``calls`` and ``tokens``, and those not written yet."""
        new_calls, new_tokens = self._spend.unwritten(self._tenant_id, self._clock())
        return ModelUsage(calls + new_calls, tokens + new_tokens, self._spend.limits)

    def _count(self, spent: Spent) -> None:
        self._spend.add(self._tenant_id, spent, self._clock())
        self._note.model_tokens += spent.tokens

    def _affinity(self, profile: str) -> str:
        return hashlib.sha256(f"{self._tenant_id}\0{profile}".encode()).hexdigest()[:_AFFINITY_DIGITS]
