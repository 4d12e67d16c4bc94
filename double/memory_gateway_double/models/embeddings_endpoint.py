"""OpenAI's embeddings call, as OpenAI and Workers AI's compatible endpoint both offer it.

https://platform.openai.com/docs/api-reference/embeddings/create
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_gateway_double.models.embedding import Values, embed, tokens
from memory_gateway_double.wire import Refusal, Reply, Request, json_reply

_FIELDS = {"model", "input", "dimensions", "encoding_format", "user"}
_MAX_INPUTS = 2048
_MAX_INPUT_TOKENS = 8192
_MAX_REQUEST_TOKENS = 300_000
_REFERENCE = "Please check the API reference: https://platform.openai.com/docs/api-reference."


@dataclass(frozen=True, slots=True)
class Model:
    """What one model makes, and whether its vectors can be asked for shorter."""

    dimensions: int
    shortenable: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    texts: list[str]
    tokens: int
    dimensions: int
    encoded: bool


def openai_error(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Refusal:
    """Refuse in OpenAI's form."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Refusal(json_reply(status, {"error": error}, headers))


def read_body(request: Request) -> dict[str, Any]:
    """Read the body as a JSON object that names a model.

    Raises:
        Refusal: it is not one.
    """
    try:
        body = request.json()
    except ValueError as error:
        raise openai_error(400, "We could not parse the JSON body of your request.") from error
    if not isinstance(body, dict) or not isinstance(body.get("model"), str) or not body["model"]:
        raise openai_error(400, "you must provide a model parameter")
    return body


def embeddings(request: Request, models: Mapping[str, Model]) -> Reply:
    """Answer an embeddings call.

    Raises:
        Refusal: it breaks a rule or a limit; no input is embedded.
    """
    body = read_body(request)
    name = body["model"]
    model = models.get(name)
    if model is None:
        message = f"The model `{name}` does not exist or you do not have access to it."
        raise openai_error(404, message, code="model_not_found")
    asked = _asked(body, model)
    size = asked.dimensions - request.shorten_vectors
    vectors = [embed(name, text, size) for text in asked.texts]
    data = [
        {"object": "embedding", "index": index, "embedding": _written(vector, encoded=asked.encoded)}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": asked.tokens, "total_tokens": asked.tokens}
    return json_reply(200, {"object": "list", "data": data, "model": name, "usage": usage})


def _asked(body: dict[str, Any], model: Model) -> _Asked:
    for field in body:
        if field not in _FIELDS:
            raise openai_error(400, f"Unrecognized request argument supplied: {field}")
    encoding = body.get("encoding_format", "float")
    if encoding not in {"float", "base64"}:
        raise _invalid("encoding_format")
    dimensions = body.get("dimensions", model.dimensions)
    if "dimensions" in body and not model.shortenable:
        raise openai_error(400, "This model does not support specifying dimensions.", param="dimensions")
    if type(dimensions) is not int or not 1 <= dimensions <= model.dimensions:
        raise _invalid("dimensions")
    texts, counts = _inputs(body.get("input"))
    if (total := sum(counts)) > _MAX_REQUEST_TOKENS:
        kind = "max_tokens_per_request"
        message = f"Requested {total} tokens, max {_MAX_REQUEST_TOKENS} tokens per request"
        raise openai_error(400, message, kind=kind, code=kind)
    return _Asked(texts, total, dimensions, encoding == "base64")


def _inputs(given: object) -> tuple[list[str], list[int]]:
    """Return the texts and the tokens of each; tokens given as numbers count as they are."""
    items = [given] if isinstance(given, str) or _is_tokens(given) else given
    if not isinstance(items, list) or not items:
        raise _invalid("input")
    if len(items) > _MAX_INPUTS:
        message = f"Invalid 'input': array too long. Expected an array with maximum length {_MAX_INPUTS}, "
        message += f"but got an array with length {len(items)} instead."
        raise openai_error(400, message, param="input", code="array_above_max_length")
    if not all((isinstance(item, str) and item) or _is_tokens(item) for item in items):
        raise _invalid("input")
    counts = [tokens(item) if isinstance(item, str) else len(item) for item in items]
    if (most := max(counts)) > _MAX_INPUT_TOKENS:
        message = f"This model's maximum context length is {_MAX_INPUT_TOKENS} tokens, however you requested "
        message += f"{most} tokens ({most} in your prompt; 0 for the completion). Please reduce your prompt; or "
        raise openai_error(400, f"{message}completion length.")
    return [item if isinstance(item, str) else " ".join(map(str, item)) for item in items], counts


def _is_tokens(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(token) is int for token in value)


def _written(vector: Values, *, encoded: bool) -> object:
    if encoded:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return vector


def _invalid(field: str) -> Refusal:
    return openai_error(400, f"'$.{field}' is invalid. {_REFERENCE}", param=field)
