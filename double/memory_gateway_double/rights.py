"""The rights of API tokens: which permission an operation needs, and which tokens have it.

https://developers.cloudflare.com/fundamentals/api/reference/permissions/
"""

import hashlib
from collections.abc import Collection, Mapping

from memory_gateway_double.wire import Request

_PRODUCTS: Mapping[str, str] = {
    "d1": "D1",
    "vectorize": "Vectorize",
    "ai": "Workers AI",
    "r2_buckets": "Workers R2 Storage",
    "workers": "Workers Scripts",
}
_POSTED_READS = frozenset(
    {"vectorize.query", "vectorize.get_by_ids", "ai.run", "ai.embeddings", "ai.chat", "ai.rerank"}
)


class Rights:
    """The tokens of the account: the first may do all, the others what their permissions say."""

    def __init__(self, api_token: str, limited: Mapping[str, Collection[str]]) -> None:
        """Take the token without limits, and the permissions of each other token, such as ``D1 Write``."""
        self._limited = limited
        self._tokens = {api_token, *limited}

    @property
    def token_ids(self) -> frozenset[str]:
        """The ids of the tokens."""
        return frozenset(map(token_id, self._tokens))

    def token(self, request: Request) -> str | None:
        """Return the token of a request, if it is one of the account's."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        return token if kind == "Bearer" and token in self._tokens else None

    def allows(self, token: str, request: Request) -> bool:
        """Tell whether a token may do what a request asks for. Who the token belongs to, all may ask."""
        product = _PRODUCTS.get(request.operation.partition(".")[0])
        permissions = self._limited.get(token)
        if permissions is None or product is None:
            return True
        reads = request.method == "GET" or request.operation in _POSTED_READS
        return f"{product} Write" in permissions or (reads and f"{product} Read" in permissions)


def token_id(token: str) -> str:
    """Return the id of a token."""
    return hashlib.sha256(f"id of {token}".encode()).hexdigest()[:32]
