"""A rerank endpoint as Cohere has it, and other services and servers after it.

https://docs.cohere.com/reference/rerank
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from memory_gateway_double.models.rerank import Rerankings
from memory_gateway_double.routing import Route
from memory_gateway_double.wire import Refusal, Reply, Request, json_reply

PREFIX = "/reranker/v1"
OPERATION = "rerank"

_MAX_DOCUMENTS = 1_000


def rerank_error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Refusal:
    """Refuse in Cohere's form."""
    return Refusal(json_reply(status, {"message": message}, headers))


class RerankEndpoint:
    """Rates documents, for one key."""

    def __init__(self, api_key: str, rerankings: Rerankings) -> None:
        """Let only this key in."""
        self._api_key = api_key
        self._rerankings = rerankings

    def routes(self) -> Iterator[Route]:
        """Return the endpoint."""
        yield Route(OPERATION, "POST", f"{PREFIX}/rerank", self._rerank)

    def admit(self, request: Request) -> None:
        """Check the key.

        Raises:
            Refusal: there is none, or another.
        """
        if request.headers.get("authorization") != f"Bearer {self._api_key}":
            raise rerank_error(401, "invalid api token")

    async def _rerank(self, request: Request) -> Reply:
        body = _body(request)
        query, documents = body["query"], body["documents"]
        most = body.get("top_n", len(documents))
        if type(most) is not int or most < 1:
            raise rerank_error(400, "top_n must be at least 1")
        rated = self._rerankings.rated(request, query, documents, most)
        results = [{"index": index, "relevance_score": score} for index, score in rated]
        return json_reply(200, {"id": str(uuid.uuid4()), "results": results, "meta": {"api_version": {"version": "2"}}})


def _body(request: Request) -> dict[str, Any]:
    try:
        body = request.json()
    except ValueError as error:
        raise rerank_error(400, "the body is not valid JSON") from error
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        raise rerank_error(400, "model is required")
    if not isinstance(body.get("query"), str) or not body["query"]:
        raise rerank_error(400, "query is required")
    documents = body.get("documents")
    if not isinstance(documents, list) or not documents or not all(isinstance(one, str) and one for one in documents):
        raise rerank_error(400, "documents must be a list of texts that are not empty")
    if len(documents) > _MAX_DOCUMENTS:
        raise rerank_error(400, f"at most {_MAX_DOCUMENTS} documents are taken")
    return body
