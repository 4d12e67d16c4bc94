"""The ``LanguageModel`` port on OpenAI's chat completions, over any transport.

https://platform.openai.com/docs/api-reference/chat/create,
https://platform.openai.com/docs/guides/structured-outputs,
https://developers.cloudflare.com/workers-ai/features/json-mode/
"""

import asyncio
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import structlog

from app.adapters.breaker import Breaker, Breakers
from app.adapters.model_answers import Completion, read_answer, read_completion
from app.adapters.model_requests import Dialect, request_body
from app.adapters.refusals import by_status
from app.domain.errors import (
    MemoryGatewayError,
    ModelAnswerRejected,
    UpstreamRejected,
    UpstreamTimeout,
)
from app.domain.json_types import Json, to_json
from app.observability.metrics import Metrics
from app.ports.language_model import ModelMessage, Schema, Spent, Stage

T = TypeVar("T")
R = TypeVar("R")

CALL_SECONDS = 60.0
MAX_ANSWER_BYTES: Final = 1024 * 1024
"""How long a response may be."""
AFFINITY = "x-session-affinity"
"""The header by which servers find their cache of earlier messages."""
GONE = {404, 410}
"""Statuses of a model that is not there."""

_CHECK = "Check LANGUAGE_MODEL_NAME, LANGUAGE_MODEL_NAMES and LANGUAGE_MODEL_BASE_URL."
_NOT_AS_IT_IS = {400, 422, 501}
_PING_TOKENS = 256
_QUOTED_CHARACTERS = 2000
"""Characters of an unreadable answer that the model is shown again."""
_TELLING_SECONDS = 1.0
_TOKEN_BYTES = 4
"""Bytes of a request that are about a token."""
_RECALL_STAGES = {"analyse", "synthesise"}
_MAX_CALLS = 5
"""Calls for one answer: each but the last was refused for a part that the next call leaves out."""
_UNMET = re.compile(r"json mode couldn'?t be met", re.IGNORECASE)


def refusal(status: int, said: str, complaint: str, *, cure: str | None = None) -> MemoryGatewayError:
    """Map a refused call to an error by its status alone, where no server gives it another meaning."""
    if status in _NOT_AS_IT_IS:
        return RequestRefused(said, complaint, cure=cure)
    return by_status(status, said, upstream="language model", cure=cure)


def no_such_model(name: str, said: str) -> MemoryGatewayError:
    """Return the error of a model that the server does not know, or no longer."""
    return UpstreamRejected(f"There is no model {name}, or no longer. {said}", cure=_CHECK)


class RequestRefused(UpstreamRejected):
    """A server does not take a request as it is. ``complaint`` says why; it may quote the request."""

    def __init__(self, detail: str, complaint: str, *, cure: str | None = None) -> None:
        """Keep the complaint apart from the detail, which is shown."""
        super().__init__(detail, cure=cure)
        self.complaint = complaint


@dataclass(frozen=True, slots=True)
class Post:
    """One call of a model; ``seconds`` is how long it may take."""

    stage: Stage
    model: str | None
    body: bytes
    headers: Mapping[str, str]
    seconds: float
    breaker: Breaker
    sent: Callable[[], None]
    """Called when the request was written."""

    @property
    def counts(self) -> bool:
        """Whether a time-out counts: the call may have too little time left for an answer."""
        return self.seconds >= _TELLING_SECONDS


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request for one answer of a model."""

    messages: Sequence[Mapping[str, str]]
    schema: Schema[Any] | None
    stage: Stage
    max_tokens: int
    affinity: str
    ends: float
    """When an answer is of no use any more, by the monotonic clock."""
    spent: Callable[[Spent], None]


class _Unreadable(Exception):
    """An answer that has not the form that was asked for: ``kind`` for operators, ``mistake`` for the model."""

    def __init__(self, kind: str, mistake: str, completion: Completion) -> None:
        super().__init__(kind)
        self.kind = kind
        self.mistake = mistake
        self.completion = completion


class ChatCompletions(ABC):
    """Answers through an endpoint of chat completions. Implements ``LanguageModel``; subclasses make the calls."""

    provider: str
    """The beginning of the models' names."""
    bare_schema = False
    """Whether the server wants a schema itself, where others want it with its name."""

    def __init__(
        self,
        models: Mapping[Stage, str | None],
        metrics: Metrics,
        breakers: Breakers,
        *,
        seconds: float,
        dialect: Dialect | None = None,
    ) -> None:
        """Take each stage's model, None where the server has one model that needs no name, and the first dialect."""
        self._breakers = breakers
        self._models = models
        self._metrics = metrics
        self._seconds = seconds
        self._dialect = dialect or Dialect()
        self._dialects: dict[str | None, Dialect] = {}
        """The dialect that was found for each model."""

    @abstractmethod
    async def _post(self, post: Post) -> bytes:
        """Make a call, and return the body of its response.

        Raises:
            RequestRefused: the server does not take the request as it is.
            Unavailable: there is no answer.
        """

    def name(self, stage: Stage) -> str:
        """Return the provider and the stage's model."""
        model = self._models[stage]
        return self.provider if model is None else f"{self.provider}/{model}"

    async def complete(
        self,
        messages: Sequence[ModelMessage],
        schema: Schema[T],
        *,
        stage: Stage,
        max_tokens: int,
        affinity: str,
        seconds: float | None = None,
        spent: Callable[[Spent], None] | None = None,
    ) -> T:
        """Ask for an answer; if it cannot be read, ask once more and say what is wrong with it.

        A part of a request that a model refuses (a schema, a temperature) is left out of all later calls of this model.
        A model that is found to reason before it answers may use ``THINKING_TOKENS`` more than ``max_tokens``.
        """
        sent = [{"role": message.role, "content": message.content} for message in messages]
        ends = time.monotonic() + (seconds or self._seconds)
        asked = _Asked(sent, schema, stage, max_tokens, affinity, ends, spent or _untold)
        try:
            return await self._answer(asked, schema)
        except _Unreadable as unreadable:
            asked = _repaired(asked, unreadable)
        try:
            return await self._answer(asked, schema)
        except _Unreadable as unreadable:
            raise ModelAnswerRejected(
                f"{self.name(stage)} twice gave an answer to {stage} that cannot be used: {unreadable.kind}."
            ) from None

    async def ping(self) -> None:
        """Send one word to each model."""
        stages: dict[str | None, Stage] = {}
        for stage, model in self._models.items():
            stages.setdefault(model, stage)
        for stage in stages.values():
            said = [{"role": "user", "content": "ping"}]
            await self._ask(_Asked(said, None, stage, _PING_TOKENS, "ping", time.monotonic() + self._seconds, _untold))

    async def _answer(self, asked: _Asked, schema: Schema[T]) -> T:
        """Ask, and read the answer; raises as ``_ask`` and ``_read`` do."""
        completion = await self._ask(asked)
        return await self._apart(asked, lambda: self._read(completion, schema, asked.stage))

    async def _apart(self, asked: _Asked, reading: Callable[[], R]) -> R:
        """Read a server's answer, which may be long, in a thread, for as long as the answer is of use.

        Raises:
            UpstreamTimeout: the answer could not be read in time.
        """
        try:
            async with asyncio.timeout(asked.ends - time.monotonic()):
                return await asyncio.to_thread(reading)
        except TimeoutError:
            raise UpstreamTimeout(f"The answer of {self.name(asked.stage)} was not read in time.") from None

    def _breaker(self, stage: Stage) -> Breaker:
        """Return the circuit of a model. Recalls, which wait less long than ingestions, have their own."""
        kind = "recall" if stage in _RECALL_STAGES else "learning"
        return self._breakers.of(f"language_model.{kind}/{self.name(stage)}")

    def _read(self, completion: Completion, schema: Schema[T], stage: Stage) -> T:
        """Read an answer.

        Raises:
            ModelAnswerRejected: the model refuses to answer.
            _Unreadable: the answer has another form.
        """
        if completion.ending == "refused":
            raise ModelAnswerRejected(f"{self.name(stage)} refuses to answer {stage}.")
        try:
            answer = read_answer(completion.content)
        except ValueError as error:
            if completion.ending == "cut":
                raise _Unreadable("it was cut off", "it was cut off; say less", completion) from None
            raise _Unreadable("it is not the JSON that was asked for", str(error), completion) from None
        try:
            return schema.read(answer)
        except ValueError as error:
            raise _Unreadable("it has another form than was asked for", str(error), completion) from None

    async def _ask(self, asked: _Asked) -> Completion:
        """Ask for one answer, and again without each part of the request that is refused and can be left out."""
        model = self._models[asked.stage]
        known = dialect = self._dialects.get(model, self._dialect)
        for last in (number == _MAX_CALLS for number in range(1, _MAX_CALLS + 1)):
            try:
                completion = await self._call(asked, dialect)
                break
            except RequestRefused as refused:
                if _UNMET.search(refused.complaint) and dialect.format == "json_schema":
                    known = dialect = replace(dialect, format="json_object")  # for this answer alone
                    continue
                other = dialect.without(refused.complaint)
                if other is None or last:
                    raise
                dialect = other
        if completion.thinks:
            dialect = replace(dialect, thinks=True)
        if dialect != known:
            structlog.get_logger().info("model_adapted", model=self.name(asked.stage), takes=str(dialect))
            self._dialects[model] = dialect
        return completion

    async def _call(self, asked: _Asked, dialect: Dialect) -> Completion:
        """Make one call, and count it."""
        name, model = self.name(asked.stage), self._models[asked.stage]
        started = time.monotonic()
        if started >= asked.ends:
            raise UpstreamTimeout(f"{name} did not answer {asked.stage} in time.")
        sent = request_body(
            model, asked.messages, asked.schema, asked.max_tokens, dialect, bare_schema=self.bare_schema
        )
        breaker = self._breaker(asked.stage)
        breaker.check()
        reached: list[None] = []
        ends, headers = asked.ends - started, {AFFINITY: asked.affinity}
        post = Post(asked.stage, model, sent, headers, ends, breaker, lambda: reached.append(None))
        outcome, tokens, answered, late = "failed", 0, False, False
        try:
            body = await self._post(post)
            answered = True
            completion = await self._apart(asked, lambda: read_completion(body, name))
            outcome, tokens = "ok", completion.tokens
        except MemoryGatewayError as error:
            outcome, late = error.code, isinstance(error, UpstreamTimeout)
            if name not in error.detail:
                error.detail = f"{name}: {error.detail}"
            raise
        except asyncio.CancelledError:
            late = True
            raise
        finally:
            if not answered and late and reached:  # the model goes on, and its unread answer is paid for
                asked.spent(Spent(asked.stage, name, -(-len(sent) // _TOKEN_BYTES) + asked.max_tokens))
            if answered:
                asked.spent(Spent(asked.stage, name, tokens))
            self._metrics.models.call(asked.stage, name, outcome, time.monotonic() - started, tokens)
        return completion


def _untold(_: Spent) -> None:
    """Ignore the cost."""


def _repaired(asked: _Asked, unreadable: _Unreadable) -> _Asked:
    """Return the next request, with the answer's beginning, its mistake, and more room if the answer was cut off."""
    content: Json = unreadable.completion.content
    given = content if isinstance(content, str) else to_json(content)
    said = (
        f"Your answer cannot be used: {unreadable.mistake}. Answer again: the whole JSON object that was asked for, "
        "correct and complete, and nothing else."
    )
    again = [{"role": "assistant", "content": given[:_QUOTED_CHARACTERS] or "{}"}, {"role": "user", "content": said}]
    max_tokens = asked.max_tokens * (2 if unreadable.completion.ending == "cut" else 1)
    return replace(asked, messages=[*asked.messages, *again], max_tokens=max_tokens)
