"""Calls a language model for one ingestion: few calls at once, again while the model is busy, none once it is away."""

import asyncio
import secrets
from collections.abc import Callable
from typing import TypeVar

import structlog

from app.domain.errors import (
    CredentialsRefused,
    MemoryGatewayError,
    ModelAnswerRejected,
    QuotaExceeded,
    QuotaExhausted,
    Unavailable,
    UpstreamTimeout,
)
from app.services.models.language_model import TenantLanguageModel
from app.services.models.request import ModelRequest

T = TypeVar("T")

AT_ONCE = 4
"""Calls that one ingestion makes at once."""
MAX_TRIES = 3
"""Tries of one call that a service does not answer."""
LONGEST_PAUSE = 10.0
"""The most seconds before another try: a service that asks for more time is not asked again."""
MAX_UNANSWERED = 8
"""Calls in a row, each with its tries, after which the service counts as away."""
_FIRST_PAUSE = 1.0
_FINAL = (QuotaExceeded, QuotaExhausted, CredentialsRefused)
"""Errors that no further call of this ingestion cures: a limit or a credit is used up, or credentials are refused."""


class ModelCalls:
    """The calls of a model for one ingestion, or for one summary of a window, by one process."""

    def __init__(self, model: TenantLanguageModel | None, affinity: str, *, ends: float | None = None) -> None:
        """Bind the model; None: no model is set any more. ``affinity``: the profile that the messages belong to.

        ``ends`` is the time when the last call has to be answered, by the event loop's clock; None: there is no limit.
        """
        self._model = model
        self._affinity = affinity
        self._ends = ends
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._unanswered = 0
        self.away: MemoryGatewayError | None = None
        """Why the model is asked no more; None while it is asked."""
        if model is None:
            self.away = Unavailable("No language model is set.")

    @property
    def name(self) -> str:
        """The name, for operators, of the model that extracts; "" without a model."""
        return "" if self._model is None else self._model.name("extract")

    async def ask(self, make: Callable[[str], ModelRequest[T]]) -> T:
        """Return the answer to a request that is made with a random mark, which the author of a message cannot know.

        Raises:
            QuotaExceeded: the tenant may spend no more on models today.
            ModelAnswerRejected: the answer has a form that cannot be read.
            Unavailable: the model does not answer, or is asked no more since it has not answered too many calls.
        """
        async with self._turns:
            try:
                async with asyncio.timeout_at(self._ends):
                    answer = await self._tried(make(secrets.token_hex(8)))
            except TimeoutError as error:
                raise self._noted(UpstreamTimeout("The language model took too long.")) from error
            except MemoryGatewayError as error:
                raise self._noted(error) from None
        self._unanswered = 0
        return answer

    async def _tried(self, request: ModelRequest[T]) -> T:
        pause = _FIRST_PAUSE
        for number in range(1, MAX_TRIES + 1):
            if self.away is not None:
                raise self.away
            assert self._model is not None  # noqa: S101 - else ``away`` is set
            try:
                return await self._model.complete(
                    request.messages,
                    request.schema,
                    stage=request.stage,
                    max_tokens=request.max_tokens,
                    affinity=self._affinity,
                    in_background=True,
                )
            except Unavailable as error:
                wait = max(pause, float(error.retry_after or 0))
                lasts = isinstance(error, ModelAnswerRejected) or error.retry_after is None
                if lasts or number == MAX_TRIES or wait > LONGEST_PAUSE:
                    raise
                structlog.get_logger().info("model_asked_again", stage=request.stage, code=error.code)
            await asyncio.sleep(wait)
            pause *= 2
        raise AssertionError  # the last try has returned or raised

    def _noted(self, error: MemoryGatewayError) -> MemoryGatewayError:
        """Note whether an error ends the calls to come, and return the error."""
        if error is not self.away and not isinstance(error, ModelAnswerRejected):
            self._unanswered += 1
            if isinstance(error, _FINAL) or self._unanswered >= MAX_UNANSWERED:
                self.away = error
        return error
