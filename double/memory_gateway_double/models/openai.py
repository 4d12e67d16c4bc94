"""The part of OpenAI's API that the double offers, under ``/v1``.

https://platform.openai.com/docs/api-reference
"""

import uuid
from collections.abc import Iterator, Mapping

from memory_gateway_double.clock import Clock
from memory_gateway_double.models.embeddings_endpoint import Model, embeddings, openai_error, read_body
from memory_gateway_double.models.language import LanguageModels
from memory_gateway_double.routing import Route
from memory_gateway_double.wire import Reply, Request

PREFIX = "/v1"

_MODELS: Mapping[str, Model] = {
    "text-embedding-3-small": Model(1536, shortenable=True),
    "text-embedding-3-large": Model(3072, shortenable=True),
    "text-embedding-ada-002": Model(1536),
}


class OpenAI:
    """Embeddings and chat, for one key."""

    def __init__(self, api_key: str, clock: Clock, models: LanguageModels) -> None:
        """Let only this key in."""
        self._api_key = api_key
        self._models = models
        self._clock = clock

    def routes(self) -> Iterator[Route]:
        """Return the endpoints."""
        yield Route("openai.embeddings", "POST", f"{PREFIX}/embeddings", self._embeddings)
        yield Route("openai.chat", "POST", f"{PREFIX}/chat/completions", self._chat)

    def admit(self, request: Request) -> None:
        """Check the key.

        Raises:
            Refusal: there is none, or another.
        """
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            message = "You didn't provide an API key. You need to provide your API key in an Authorization header."
            raise openai_error(401, message)
        if key != self._api_key:
            message = f"Incorrect API key provided: {key[:3]}***{key[-4:]}. "
            message += "You can find your API key at https://platform.openai.com/account/api-keys."
            raise openai_error(401, message, code="invalid_api_key")

    def headers(self) -> Mapping[str, str]:
        """Return what every answer carries; the limits are those of an account that is far from them."""
        return {
            "x-request-id": f"req_{uuid.uuid4().hex}",
            "openai-processing-ms": "1",
            "openai-version": "2020-10-01",
            "x-ratelimit-limit-requests": "3000",
            "x-ratelimit-remaining-requests": "2999",
            "x-ratelimit-reset-requests": "20ms",
            "x-ratelimit-limit-tokens": "1000000",
            "x-ratelimit-remaining-tokens": "999999",
            "x-ratelimit-reset-tokens": "0s",
        }

    async def _embeddings(self, request: Request) -> Reply:
        return embeddings(request, _MODELS)

    async def _chat(self, request: Request) -> Reply:
        body = read_body(request)
        if not isinstance(body.get("messages"), list) or not body["messages"]:
            raise openai_error(400, "Missing required parameter: 'messages'.", param="messages")
        return await self._models.answer(body, int(self._clock.now()), default_tokens=None)
