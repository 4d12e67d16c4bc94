"""Reads the answers of language model servers: a chat completion in one of several forms, and the JSON within."""

import json
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, cast

from app.domain.errors import UpstreamRejected
from app.domain.json_types import Json

_THOUGHT_BEGINS, _THOUGHT_ENDS = "<think>", "</think>"
_FENCE = "```"
_INFO = string.ascii_letters + string.digits + "_-"
"""The characters of a language's name behind a fence."""
_CUT = {"length", "max_tokens", "max_output_tokens"}
_WITHHELD = {"content_filter", "refusal"}

Ending = Literal["whole", "cut", "refused"]


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer, and its cost."""

    content: Json
    """A text, or the JSON itself, where the server has read it already."""
    ending: Ending = "whole"
    tokens: int = 0
    """Tokens of the messages and the answer; 0 where the server does not say."""
    thinks: bool = False
    """Whether tokens of the answer went into reasoning that is no part of it."""


def read_completion(body: bytes, server: str) -> Completion:
    """Read a response's body.

    Besides OpenAI's form, in which the content may be a list of parts or JSON that was read already, the body may be
    ``[{"generated_text": ...}]``, or the ``response`` of a model of Workers AI, with or without its envelope.

    Raises:
        UpstreamRejected: the body is none of these. ``server`` names the model that was called.
    """
    try:
        answer = strict_json(body.decode())
    except ValueError as error:
        raise UpstreamRejected(f"{server} answered something that is not JSON.") from error
    if isinstance(answer, Mapping) and isinstance(answer.get("result"), Mapping | list) and "choices" not in answer:
        answer = answer["result"]
    try:
        return _completion(answer)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise UpstreamRejected(f"{server} answered something that is no chat completion.") from error


def strict_json(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Parse JSON.

    Raises:
        ValueError: the text is not JSON, has a key twice or a number that is none of JSON's, or is nested too deeply.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error.msg} at character {error.pos})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_answer(content: Json) -> Json:
    """Return the JSON of a content: as it is, or in a text, after reasoning in tags, within a Markdown fence.

    Raises:
        ValueError: there is no JSON; the error says what is wrong.
    """
    if not isinstance(content, str):
        if content is None:
            raise ValueError("it is empty")
        return content
    text = _without_thought(content).strip()
    if not text:
        raise ValueError("it is empty")
    return cast("Json", strict_json(_unfenced(text)))


def _unfenced(text: str) -> str:
    """Return the text within the fence that a text begins and ends with; the whole text where there is no fence."""
    inside = text.removeprefix(_FENCE).removesuffix(_FENCE)
    return inside.lstrip(_INFO).strip() if len(text) - len(inside) == 2 * len(_FENCE) else text


def _completion(answer: Any) -> Completion:  # noqa: ANN401 - whatever JSON holds
    if isinstance(answer, list):
        return Completion(answer[0]["generated_text"])
    tokens = _tokens(answer.get("usage"))
    if "response" in answer and "choices" not in answer:
        return Completion(_content(answer["response"]), tokens=tokens)
    if "generated_text" in answer:
        return Completion(answer["generated_text"], tokens=tokens)
    choice = answer["choices"][0]
    message, reason = choice["message"], choice.get("finish_reason")
    content = _content(message.get("content"))
    refused = bool(message.get("refusal")) or reason in _WITHHELD
    ending: Ending = "refused" if refused else "cut" if reason in _CUT else "whole"
    thinks = message.get("reasoning_content") or message.get("reasoning") or _reasoning_tokens(answer.get("usage"))
    return Completion(content, ending, tokens, thinks=bool(thinks) or _is_thought(content))


def _content(content: Any) -> Json:  # noqa: ANN401 - whatever JSON holds
    """Join the texts of a content in parts. ``[{"generated_text": ...}]`` may stand in its place too."""
    if isinstance(content, str) or content is None:
        return content
    if isinstance(content, list) and content and all(isinstance(part, Mapping) for part in content):
        if "generated_text" in content[0]:
            return cast("Json", content[0]["generated_text"])
        if all("type" in part for part in content):
            return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return cast("Json", content)


def _tokens(usage: Any) -> int:  # noqa: ANN401 - whatever JSON holds
    if not isinstance(usage, Mapping):
        return 0
    parts = _count(usage.get("prompt_tokens")) + _count(usage.get("completion_tokens"))
    return _count(usage.get("total_tokens")) or parts


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _reasoning_tokens(usage: Any) -> int:  # noqa: ANN401 - whatever JSON holds
    details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
    return _count(details.get("reasoning_tokens")) if isinstance(details, Mapping) else 0


def _is_thought(content: Json) -> bool:
    return isinstance(content, str) and content.lstrip().startswith(_THOUGHT_BEGINS)


def _without_thought(text: str) -> str:
    """Leave out reasoning before the answer. Some servers put the tag that begins it into the prompt."""
    before, ends, after = text.partition(_THOUGHT_ENDS)
    if not ends:
        return "" if _is_thought(text) else text
    return text if before.lstrip().startswith(("{", "[", "```")) else after


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("a key is there twice in one object")
    return read


def _no_number(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no numbers of JSON")
