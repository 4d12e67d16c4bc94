"""The ``LanguageModel`` port on Cloudflare Workers AI.

https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/,
https://developers.cloudflare.com/workers-ai/features/json-mode/
"""

from collections.abc import Mapping

from app.adapters.cloudflare.client import PROVIDER, CloudflareClient
from app.adapters.cloudflare.responses import Refusal
from app.adapters.cloudflare.workers_ai import meaning
from app.adapters.completions import (
    CALL_SECONDS,
    GONE,
    MAX_ANSWER_BYTES,
    ChatCompletions,
    Post,
    RequestRefused,
    no_such_model,
    refusal,
)
from app.adapters.upstream import Call
from app.domain.errors import MemoryGatewayError, RateLimited
from app.observability.metrics import Metrics
from app.ports.language_model import Stage

STRUCTURED_MODEL = "@cf/meta/llama-4-scout-17b-16e-instruct"
SYNTHESIS_MODEL = "@cf/nvidia/nemotron-3-120b-a12b"

_OPERATION = "ai.chat"
# https://developers.cloudflare.com/workers-ai/platform/errors/
_NO_SUCH_MODEL = {5007, 3042}
_NO_JSON_MODE = 5025
_OF_ALL_PRODUCTS = {401, 403, 429}


class WorkersAILanguageModel(ChatCompletions):
    """Asks models of the account, as background work within the call budget of D1 and Vectorize."""

    provider = "workers-ai"
    bare_schema = True

    def __init__(
        self,
        client: CloudflareClient,
        models: Mapping[Stage, str],
        metrics: Metrics,
        *,
        seconds: float = CALL_SECONDS,
    ) -> None:
        """Use a client that the caller closes."""
        super().__init__(models, metrics, client.breakers, seconds=seconds)
        self._client = client

    async def close(self) -> None:
        """Do nothing: the caller closes the client."""

    async def _post(self, post: Post) -> bytes:
        name = self.name(post.stage)
        call = Call(
            _OPERATION,
            "POST",
            "/ai/v1/chat/completions",
            post.body,
            seconds=post.seconds,
            headers=post.headers,
            max_bytes=MAX_ANSWER_BYTES,
            breaker=post.breaker,
            counts=post.counts,
            sent=post.sent,
            quotable=False,
            model=post.model,
            provider=PROVIDER,
            task="chat",
        )
        try:
            return await self._client.call_compatible(call, lambda refusal: _error(refusal, name))
        except RateLimited as error:  # no model is called now, whichever limit it is
            raise RateLimited(f"{name}: no call is let through now.", retry_after=error.retry_after or 1) from None


def _error(refused: Refusal, name: str) -> MemoryGatewayError | None:
    """Map a refusal to an error without its message, which may quote; None where all products share its meaning."""
    status, code = refused.status, refused.code
    said = f"{name} answered {status} ({code or 'no code'})."
    own = meaning(refused)
    if own is not None:
        return type(own)(said)
    if code in _NO_SUCH_MODEL or status in GONE:
        return no_such_model(name, said)
    if code == _NO_JSON_MODE:
        return RequestRefused(said, "json mode")
    return None if status in _OF_ALL_PRODUCTS else refusal(status, said, refused.message)
