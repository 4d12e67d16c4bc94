"""What callers who know other products mean by a field that a request does not have."""

import re
from collections.abc import Mapping
from typing import Final

_AGENT = "name the agent in `agent_id`, one for each user (docs/users.md)"
_KEPT = "the text to keep is `content`, and what is asked is `query`"
_ASKED = "what is asked is `query`, by `POST /recall` or `POST /profiles/{profile}/recall`"
_MOST = "how many a recall returns is `top_k`; a list has pages of `limit`, with a `cursor`"
_PAGE = "a list has pages of `limit`, and goes on from the `cursor` of the answer before"
_SESSION = "the conversation is `session_id`"
_HAPPENED = "when it happened is `occurred_at`; when it was stored says the service"
_EXPIRES = "until when it is kept is the moment `expires_at`; `PUT /agents/{agent_id}` sets it for all of an agent"
_TENANT = "the tenant comes with the credential, never with a request"
_METADATA = "`POST /store` keeps it in `metadata`; a recall asks for it in `filter.metadata`, a list in `?metadata=`"
_SCORE = "the least score is `min_score`"
_MESSAGES = "hand a conversation over to `POST /profiles/{profile}/ingest`"
_MEMORY = "the text to keep is `content`; a memory that is there is named by its `memory_id`"
_ID = "the service gives the id of a memory, and your own goes into `metadata`"
_RUN = "the run is `run_id`"
_FILTER = "conditions are in `filter`: `created_after`, `created_before`, `metadata`"
_INFER = "a store keeps the text as it is; what is learned of messages is `POST /profiles/{profile}/ingest`"
_TYPE = "`GET /profiles/{profile}/memories` lists by `type`; what is stored is classified by the service"
_RERANK = "what reads and rates the entries again is the operator's setting (docs/settings.md)"
_DRY = "only what deletes, undoes or ingests much can be tried with `dry_run`"

HINTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("user_id", "user", "agent", "bot_id", "app_id", "assistant_id", "bank_id", "group_id"), _AGENT),
    **dict.fromkeys(("profile", "profile_id", "namespace", "collection", "dataset", "container_tag"), _AGENT),
    **dict.fromkeys(("agent_id",), "the agent is named elsewhere: in the path, or by the credential"),
    **dict.fromkeys(("text", "data", "value", "body", "document", "documents", "fact", "note"), _KEPT),
    **dict.fromkeys(("memory", "memories"), _MEMORY),
    **dict.fromkeys(("query", "question", "q", "prompt", "input", "search", "search_query", "query_text"), _ASKED),
    **dict.fromkeys(("content",), _KEPT),
    **dict.fromkeys(("limit", "k", "n", "top", "top_n", "n_results", "num_results", "max_results", "count"), _MOST),
    **dict.fromkeys(("page", "page_size", "per_page", "offset", "skip", "top_k", "page_token", "next"), _PAGE),
    **dict.fromkeys(("session", "thread_id", "conversation_id", "chat_id", "conversation", "thread"), _SESSION),
    **dict.fromkeys(("messages", "message", "role", "conversation_history", "history", "turns"), _MESSAGES),
    **dict.fromkeys(("timestamp", "date", "time", "created_at", "happened_at", "said_at", "event_time"), _HAPPENED),
    **dict.fromkeys(("ttl", "ttl_seconds", "expiration_date", "expires_in", "expiry", "expires"), _EXPIRES),
    **dict.fromkeys(("tenant", "tenant_id", "org_id", "organization_id", "project_id", "account_id"), _TENANT),
    **dict.fromkeys(("tags", "labels", "categories", "category", "metadata", "custom_categories"), _METADATA),
    **dict.fromkeys(("threshold", "score_threshold", "min_relevance", "similarity_threshold"), _SCORE),
    **dict.fromkeys(("id", "memory_id", "key", "uuid"), _ID),
    **dict.fromkeys(("run", "trace_id"), _RUN),
    **dict.fromkeys(("filters", "where", "conditions"), _FILTER),
    **dict.fromkeys(("infer", "extract", "enable_graph", "graph"), _INFER),
    **dict.fromkeys(("type", "kind", "memory_type", "types"), _TYPE),
    **dict.fromkeys(("rerank", "reranker", "keyword_search", "hybrid"), _RERANK),
    **dict.fromkeys(("dry_run", "confirm", "simulate"), _DRY),
    "reference_date": "what `yesterday` is counted from is `reference_time`",
    "as_of_date": "what held at another time is asked with `as_of`",
}
"""By a name that others use: which of our fields or calls is meant. It is told only where a request lacks the field."""

_OURS = frozenset(
    [
        *("agent_id", "session_id", "run_id", "memory_id", "top_k", "min_score", "max_tokens", "occurred_at"),
        *("expires_at", "created_after", "created_before", "reference_time", "as_of", "response_length"),
        *("thinking_level", "group_by"),
    ]
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|-")
_LONGEST = 40


def hint(name: str) -> str:
    """Return what is meant by a field that a request does not have, to be put behind a sentence; "" if not known."""
    if len(name) > _LONGEST:
        return ""
    written = _HUMP.sub("_", name).lower()
    if written != name and written in _OURS:
        return f": it is written `{written}`"
    meant = HINTS.get(written)
    return "" if meant is None else f": {meant}"
