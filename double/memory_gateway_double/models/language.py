"""A language model of the double: honest by simple rules, or as a test has scripted it, stage by stage."""

import asyncio
import re
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson

from memory_gateway_double.models import chat
from memory_gateway_double.models.embedding import tokens
from memory_gateway_double.models.embeddings_endpoint import openai_error
from memory_gateway_double.models.stages import honest
from memory_gateway_double.wire import ConnectionCut, Refusal, Reply, json_reply

Form = Literal["text", "parts", "object", "generated_text", "response"]
"""How the answer stands in the response: ``response`` is the form of ``ai/run``, in its envelope."""
Feature = Literal["json_schema", "json_object", "temperature", "max_tokens", "max_completion_tokens"]

_NAMED = re.compile(r'"title":\s*"([A-Za-z0-9_-]+)"')
_NO_JSON_MODE = 5025
EVERY_STAGE = "*"


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of the next calls of a stage.

    ``reply`` is an object, or a text as it is to stand in the answer; without one the model answers honestly.
    ``status`` refuses the call in the words of the service, or with ``body``; ``cut`` closes the connection. Everything
    comes after ``delay_seconds`` of real time, and happens to ``times`` calls (None: to all, until it is cleared).
    """

    reply: Any = None
    form: Form = "text"
    status: int | None = None
    body: Any = None
    headers: Mapping[str, str] | None = None
    delay_seconds: float = 0
    cut: bool = False
    finish_reason: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    usage: bool = True
    times: int | None = 1

    def __post_init__(self) -> None:
        """Refuse what is impossible.

        Raises:
            ValueError: a field has no such value.
        """
        if self.form not in get_args(Form):
            raise ValueError(f"form must be one of {', '.join(get_args(Form))}")
        if self.times is not None and self.times < 1:
            raise ValueError("times must be at least 1")


class LanguageModels:
    """All language models of the double. Safe from any thread."""

    def __init__(self) -> None:
        """Begin honest."""
        self._lock = threading.Lock()
        self._scripts: dict[str, deque[tuple[Step, int | None]]] = {}
        self._refuses: frozenset[str] = frozenset()
        self._calls: Counter[str] = Counter()
        self._now: Counter[str] = Counter()
        self._most: Counter[str] = Counter()

    def script(self, stage: str, *steps: Step) -> None:
        """Put steps behind those of a stage that are still to come; ``*`` is every stage, after its own steps."""
        with self._lock:
            self._scripts.setdefault(stage, deque()).extend((step, step.times) for step in steps)

    def refuse(self, *features: Feature) -> None:
        """Refuse requests with these features from now on, as a model without them would."""
        self._refuses = frozenset(features)

    def clear(self) -> None:
        """Be honest again, refuse nothing, and forget the counts."""
        with self._lock:
            self._scripts.clear()
            self._refuses = frozenset()
            for counter in (self._calls, self._most):
                counter.clear()

    def calls(self) -> dict[str, int]:
        """Return how many calls each stage had."""
        with self._lock:
            return dict(self._calls)

    def most_at_once(self, *stages: str) -> int:
        """Return how many calls there were at once at most: of one stage, or of all."""
        return self._most[stages[0] if stages else EVERY_STAGE]

    def state(self) -> dict[str, Any]:
        """Return the counts, what is refused, and how many steps are still to come."""
        with self._lock:
            return {
                "calls": dict(self._calls),
                "at_once": self._now[EVERY_STAGE],
                "most_at_once": dict(self._most),
                "refuses": sorted(self._refuses),
                "steps": {stage: len(steps) for stage, steps in self._scripts.items()},
            }

    async def answer(self, body: Mapping[str, Any], created: int, *, default_tokens: int | None) -> Reply:
        """Answer a chat completion; ``default_tokens`` is how long the answer is where the request does not say.

        Raises:
            Refusal: the script, or what is refused, says so.
            ConnectionCut: the script says so.
        """
        stage, schema = asked_for(body)
        with self._counted(stage):
            step = self._next(stage)
            if step.delay_seconds:
                await asyncio.sleep(step.delay_seconds)
            if step.cut:
                raise ConnectionCut
            if step.status is not None:
                raise _scripted_refusal(step)
            self._check(body)
            text = _written(step.reply) if step.reply is not None else _honest(stage, schema, body)
            return _reply(step, text, body, created, default_tokens)

    def _next(self, stage: str) -> Step:
        with self._lock:
            for of in (stage, EVERY_STAGE):
                steps = self._scripts.get(of)
                if not steps:
                    continue
                step, left = steps.popleft()
                if left is None or left > 1:
                    steps.appendleft((step, None if left is None else left - 1))
                return step
        return Step()

    @contextmanager
    def _counted(self, stage: str) -> Iterator[None]:
        with self._lock:
            self._calls[stage] += 1
            for of in (stage, EVERY_STAGE):
                self._now[of] += 1
                self._most[of] = max(self._most[of], self._now[of])
        try:
            yield
        finally:
            with self._lock:
                for of in (stage, EVERY_STAGE):
                    self._now[of] -= 1

    def _check(self, body: Mapping[str, Any]) -> None:
        """Refuse a request that has a feature which is refused."""
        wanted = (body.get("response_format") or {}).get("type")
        for feature in sorted(self._refuses):
            if feature == wanted:
                message = f"This model doesn't support response_format of type {feature}."
                raise openai_error(400, message, param="response_format", code=str(_NO_JSON_MODE))
            if feature in body:
                message = f"Unsupported parameter: '{feature}' is not supported with this model."
                if feature == "max_tokens":
                    message += " Use 'max_completion_tokens' instead."
                raise openai_error(400, message, param=feature, code="unsupported_parameter")


def asked_for(body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """Return the name and the schema of the answer that is asked for, from where the request has them."""
    wanted = body.get("response_format") or {}
    described = wanted.get("json_schema") or {}
    if wanted.get("type") == "json_schema" and isinstance(described, Mapping):
        return str(described.get("name") or described.get("title") or ""), described.get("schema") or described
    named = _NAMED.search(chat.prompt(body))
    return (named[1] if named else ""), None


def _honest(stage: str, schema: Mapping[str, Any] | None, body: Mapping[str, Any]) -> str:
    answer = honest(stage, chat.prompt(body))
    if answer is None:
        return chat.unscripted(body)
    known = (schema or {}).get("properties")
    return _written(answer if known is None else {key: answer[key] for key in known if key in answer})


def _written(reply: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    return reply if isinstance(reply, str) else orjson.dumps(reply).decode()


def _scripted_refusal(step: Step) -> Refusal:
    status = step.status or 500
    if step.body is None:
        return openai_error(status, f"The model refused the call ({status}).", headers=step.headers)
    content = step.body.encode() if isinstance(step.body, str) else orjson.dumps(step.body)
    return Refusal(Reply(status, content, headers=step.headers or {}))


def _reply(step: Step, text: str, body: Mapping[str, Any], created: int, default_tokens: int | None) -> Reply:
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or default_tokens
    used = tokens(text)
    cut = isinstance(limit, int) and used > limit and step.reply is None
    if cut and isinstance(limit, int):
        text = text[: len(text) * limit // used]
    if step.form == "generated_text":
        return json_reply(200, [{"generated_text": text}])
    content: Any = text
    if step.form == "parts":
        middle = len(text) // 2
        content = [{"type": "text", "text": part} for part in (text[:middle], text[middle:])]
    elif step.form in {"object", "response"}:
        content = orjson.loads(text)
    if step.form == "response":
        result = {"response": content, "usage": chat.usage(body, text)}
        return json_reply(200, {"success": True, "errors": [], "messages": [], "result": result})
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": step.refusal}
    if step.reasoning is not None:
        message["reasoning_content"] = step.reasoning
    finish = step.finish_reason or ("length" if cut else "stop")
    answer = chat.completion(body, created, message, finish, text)
    return json_reply(200, answer if step.usage else {key: answer[key] for key in answer if key != "usage"})


def read_steps(content: Mapping[str, Any]) -> dict[str, list[Step]]:
    """Read scripts from JSON: by stage a step, or a list of steps.

    Raises:
        ValueError: one is none.
    """
    scripts = {}
    for stage, given in content.items():
        listed: Sequence[Any] = given if isinstance(given, list) else [given]
        try:
            scripts[stage] = [Step(**step) for step in listed]
        except TypeError as error:
            raise ValueError(str(error)) from error
    return scripts
