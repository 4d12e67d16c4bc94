"""A language model's part in one recall: the model never delays a recall beyond its time, and never makes it fail."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import structlog

from app.domain.errors import ModelAnswerRejected, QuotaExceeded, Unavailable, UpstreamTimeout
from app.domain.memory import Scope
from app.retrieval.query.analysis import Analysis, PendingAnalysis
from app.services.learning.analysing import analysed, analysis
from app.services.models.language_model import TenantLanguageModel
from app.services.models.request import ModelRequest
from app.services.tenant.backends import TenantBackends
from app.services.tenant.topics import nearest

T = TypeVar("T")

ANALYSIS_SHARE = 0.4
"""The largest share that the analysis of a query has of the time that a recall has for models."""
_MARK_BYTES = 8


class RecallModel:
    """Asks a tenant's model for one recall of an agent. All calls together have the recall's time for models."""

    def __init__(self, backends: TenantBackends, agent_id: str, model: TenantLanguageModel) -> None:
        """Begin with all of the recall's time for models."""
        self._backends = backends
        self._scope = Scope(backends.tenant_id, agent_id)
        self._model = model
        self._left = model.waits.recall
        self.mark = secrets.token_hex(_MARK_BYTES)
        """The mark that fences off data in the prompts of this recall."""

    @asynccontextmanager
    async def analysing(self, query: str, reference: int) -> AsyncIterator[PendingAnalysis | None]:
        """Have the model analyse a query of the moment ``reference`` (ms since the epoch), while the block runs.

        It gives None where there is no time for an analysis, or recalls have none. An analysis that takes longer than
        its share of the time is not waited for.
        """
        seconds = min(ANALYSIS_SHARE * self._left, self._model.waits.analysis)
        if seconds <= 0:
            yield None
            return
        ends = asyncio.get_running_loop().time() + seconds
        analysed_ = asyncio.create_task(self._analyse(query, reference, seconds))
        try:
            yield PendingAnalysis(analysed_, ends)
        finally:
            analysed_.cancel()

    async def _analyse(self, query: str, reference: int, seconds: float) -> Analysis | None:
        """Return the model's analysis of a query; None where there is none within ``seconds``.

        A model that does not answer in time gets at most ``seconds`` more, for the answer.
        """
        topics = nearest(self._backends.data.caches.topics.find(self._scope, self._backends.clock()) or (), query)
        found = await self._complete(analysis(query, reference, topics, self.mark), seconds)
        if found == "model_timeout":
            self._left = min(self._left, seconds)
        return None if isinstance(found, str) else analysed(found, topics)

    async def answer(self, request: ModelRequest[T]) -> T | str:
        """Return the model's answer, or why there is none, as ``degraded`` names it."""
        return await self._complete(request, self._left)

    async def _complete(self, request: ModelRequest[T], seconds: float) -> T | str:
        if seconds <= 0:
            return "model_timeout"
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            return await self._model.complete(
                request.messages,
                request.schema,
                stage=request.stage,
                max_tokens=request.max_tokens,
                affinity=self._scope.agent_id,
                seconds=seconds,
            )
        except (Unavailable, QuotaExceeded) as error:
            structlog.get_logger().warning("model_away", stage=request.stage, code=error.code, reason=error.detail)
            return _why(error)
        finally:
            self._left -= clock() - began


def _why(error: Unavailable | QuotaExceeded) -> str:
    match error:
        case QuotaExceeded():
            return "model_quota_exceeded"
        case ModelAnswerRejected():
            return "model_answer_rejected"
        case UpstreamTimeout():
            return "model_timeout"
        case _:
            return "model_unavailable"
