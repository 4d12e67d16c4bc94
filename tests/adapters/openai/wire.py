"""OpenAI's side of single calls."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np

from app.domain.embedding import Vector

URL = "https://api.openai.com/v1/embeddings"
KEY = "sk-proj-0123456789abcdefghij"
TLS = httpx.create_ssl_context()
DIMENSIONS = 64


def axis(number: int, dimensions: int = DIMENSIONS) -> Vector:
    """A vector of unit length along one axis."""
    vector = np.zeros(dimensions, np.float32)
    vector[number % dimensions] = 1
    return vector


def base64_of(vector: Sequence[float] | Vector) -> str:
    return base64.b64encode(np.array(vector, "<f4").tobytes()).decode()


def item(index: Any, embedding: Any) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": embedding}


def answer(data: Any, *, tokens: Any = 5, **more: Any) -> httpx.Response:
    """Embeddings that were made."""
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return httpx.Response(200, json={"object": "list", "model": "m", "data": data, "usage": usage, **more})


def vectors(*each: Vector, tokens: int = 5) -> httpx.Response:
    return answer([item(index, base64_of(vector)) for index, vector in enumerate(each)], tokens=tokens)


def replying(request: httpx.Request) -> httpx.Response:
    """Answer each input with the axis of its place in the call, and a token for each input."""
    inputs = json.loads(request.content)["input"]
    return vectors(*(axis(number) for number in range(len(inputs))), tokens=len(inputs))


def refusal(
    status: int, *, code: str | None = None, kind: str | None = None, message: str = "refused", **headers: str
) -> httpx.Response:
    """A call that was not done; underscores in a header's name stand for hyphens."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    return httpx.Response(
        status, json={"error": error}, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )
