"""Examples for the OpenAPI document and ``llms.txt``: in all of them an agent remembers how a customer is billed."""

import inspect
from typing import Any

from app.domain.embedding import EmbeddingConfig
from app.domain.errors import (
    CircuitOpen,
    EmbeddingConfigMismatch,
    FieldError,
    InvalidRequest,
    LongTermDisabled,
    MemoryGatewayError,
    QuotaExceeded,
    RateLimited,
    SensitiveContent,
)
from app.domain.moments import milliseconds, parse_moment
from app.interfaces.fields import invalid
from app.services.transfer.lines import Manifest, memory_line, whole_file
from app.services.transfer.record import Record
from app.services.transfer.report import ImportLine, ImportReport

TENANT = "acme"
AGENT_ID = "default"
MEMORY_ID = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
OPERATION_ID = "01K2Z6Q9D4W1X8R5T2Y7V3B6NC"
CREDENTIAL_ID = "01K2Z3H5J7K9M2N4P6R8S0T1V3"
RUN_ID = "01K2Z5B8C3D6F9G1H4J7K2M5NP"
AGENT_TYPE = "support"
TASK_TYPE = "answer-invoice-question"
WORKFLOW_ID = "look-up-then-answer"
MOMENT = "2026-11-20T09:30:00.000Z"
FUTURE = "2999-12-31T23:59:59Z"

_CONTENT = "The customer prefers invoices in Swedish"
_METADATA: dict[str, Any] = {"source": "call", "customer": 4711}
_QUERY = "which language should bills be in?"
_CONFIG = EmbeddingConfig("local", "all-MiniLM-L6-v2", 384)

STORE: dict[str, Any] = {"agent_id": AGENT_ID, "content": _CONTENT, "metadata": _METADATA}
STORE_OF_A_SESSION: dict[str, Any] = {
    "agent_id": AGENT_ID,
    "content": "Ann asked for the invoice of March again",
    "session_id": "call-17",
    "occurred_at": "2026-11-19T14:05:00Z",
}
UNDONE: dict[str, Any] = {
    "credential_id": CREDENTIAL_ID,
    "memories": 12,
    "changed": 1,
    "outcomes": 0,
    "more": False,
    "ended_at": MOMENT,
}
STORED: dict[str, Any] = {"stored": True}

RECALL: dict[str, Any] = {"agent_id": AGENT_ID, "query": _QUERY, "top_k": 3}
RECALL_FILTERED: dict[str, Any] = {
    "agent_id": AGENT_ID,
    "query": _QUERY,
    "filter": {"created_after": "2026-01-01T00:00:00Z", "metadata": {"source": "call"}},
}
RECALL_GROUPED: dict[str, Any] = {"agent_id": AGENT_ID, "query": _QUERY, "top_k": 3, "group_by": "session"}
RECALLED: dict[str, Any] = {
    "entries": [
        {
            "id": MEMORY_ID,
            "content": _CONTENT,
            "metadata": _METADATA,
            "score": 0.93,
            "similarity": 0.55,
            "created_at": MOMENT,
            "occurred_at": "2026-11-19T14:05:00.000Z",
            "session_id": "call-17",
        }
    ],
    "confidence": 0.93,
}
RECALLED_GROUPED: dict[str, Any] = RECALLED | {
    "groups": [{"session_id": "call-17", "score": 0.93, "entries": [MEMORY_ID]}]
}
_SPEC: dict[str, Any] = {"steps": ["find the customer", "read the invoice", "answer in the customer's language"]}
_POSTERIOR: dict[str, Any] = {"alpha": 8.5, "beta": 2.5, "mean": 0.7727272727272727}
_INTERVAL: list[float] = [0.497, 0.956]
_LISTED_WORKFLOW: dict[str, Any] = {
    "workflow_id": WORKFLOW_ID,
    "agent_type": AGENT_TYPE,
    "task_type": TASK_TYPE,
    "discount": 1.0,
    "enabled": True,
    **_POSTERIOR,
    "interval": _INTERVAL,
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "version": 2,
}
WORKFLOW_PUT: dict[str, Any] = {"agent_type": AGENT_TYPE, "task_type": TASK_TYPE, "spec": _SPEC}
WORKFLOW: dict[str, Any] = {**_LISTED_WORKFLOW, "spec": _SPEC}
WORKFLOWS: dict[str, Any] = {"workflows": [_LISTED_WORKFLOW]}
_WORKFLOW_TEXT: dict[str, Any] = {
    "version": 2,
    "written_by": CREDENTIAL_ID,
    "channel": "http",
    "written_at": MOMENT,
}
WORKFLOW_VERSIONS: dict[str, Any] = {"versions": [_WORKFLOW_TEXT]}
WORKFLOW_VERSION: dict[str, Any] = {**_WORKFLOW_TEXT, "spec": _SPEC}
SELECT: dict[str, Any] = {"agent_type": AGENT_TYPE, "task_type": TASK_TYPE, "run_id": RUN_ID}
SELECTED: dict[str, Any] = {
    "workflow_id": WORKFLOW_ID,
    "spec": _SPEC,
    **_POSTERIOR,
    "interval": _INTERVAL,
    "sampled": 0.81,
}
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 176" role="img"><title>...</title></svg>'
OUTCOME: dict[str, Any] = {"run_id": RUN_ID, "score": 1}
OUTCOME_COUNTED: dict[str, Any] = {**_POSTERIOR, "counted": True}

EXPLAIN: dict[str, Any] = {"agent_id": AGENT_ID, "query": _QUERY, "memory_id": MEMORY_ID}
EXPLAINED: dict[str, Any] = {
    "returned": False,
    "rank": 7,
    "score": 0.41,
    "findings": [{"channel": "vector", "weighted": 0.41, "raw": 0.32, "rank": 7}],
    "obstacles": ["rank"],
    "change": {"top_k": 7},
}

MEMORY: dict[str, Any] = {
    "id": MEMORY_ID,
    "agent_id": AGENT_ID,
    "content": _CONTENT,
    "metadata": _METADATA,
    "created_at": MOMENT,
}
CURSOR = "WzE3OTU4MDYwMDAwMDAsICIwMUsyWjRNMVY3UThUM0I1TjZDN0Q4RTlGQSIsIDE3OTU4MDYwMDEwMDBd.c2lnbmVkIGJ5IHRoZSBzZXJ2aWNl"
LISTED: dict[str, Any] = {"memories": [MEMORY], "cursor": CURSOR}
WANTED: dict[str, Any] = {"source": "call"}

_USAGE: dict[str, Any] = {
    "memories": 81,
    "bytes": 12_300,
    "bytes_by_tier": {
        "long_term": 9720,
        "working": 1480,
        "episodic": 1100,
        "procedural": 0,
        "shared_context": 0,
        "audit": 0,
        "blobs": 0,
        "ingestion": 0,
    },
    "stores_this_minute": 2,
    "limits": {"memories": 100, "stores_per_minute": 60},
}
USAGE: dict[str, Any] = {
    "tenant": _USAGE,
    "kept": {"idempotency_keys": 12, "audit_rows": 240, "agent_settings": 1, "receipts": 2, "episodes": 310},
    "models": {"calls_today": 34, "tokens_today": 51200, "limits": {"calls_per_day": 1000}},
    "agents": [{**_USAGE, "limits": {}, "agent_id": AGENT_ID}],
}

_HAPPENED = "2026-11-19T14:05:00.000Z"
_REMEMBERED: dict[str, Any] = {
    "id": MEMORY_ID,
    "type": "fact",
    "summary": _CONTENT,
    "session_id": "call-17",
    "occurred_at": _HAPPENED,
    "created_at": MOMENT,
}
REMEMBER: dict[str, Any] = {"content": _CONTENT, "session_id": "call-17", "occurred_at": "2026-11-19T14:05:00Z"}
REMEMBERED: dict[str, Any] = {**_REMEMBERED, "content": _CONTENT}
ASK: dict[str, Any] = {"query": _QUERY, "response_length": "short"}
ANSWERED: dict[str, Any] = {
    "answer": f"2026-11-19: {_CONTENT}",
    "count": 1,
    "entries": RECALLED["entries"],
    "cited": [MEMORY_ID],
    "instructions": [{"id": "01K2Z4M1V7Q8T3B5N6C7D8E9FB", "content": "Answer in Swedish.", "created_at": MOMENT}],
}
PROFILE_LISTED: dict[str, Any] = {"memories": [_REMEMBERED], "cursor": CURSOR}
DETAIL: dict[str, Any] = {
    **REMEMBERED,
    "versions": [{"key": "customer/invoice language", "id": MEMORY_ID, "summary": _CONTENT, "created_at": MOMENT}],
    "sources": [
        {
            "id": "709a63a769b71784720db39aedab3274",
            "role": "user",
            "session_id": "call-17",
            "occurred_at": _HAPPENED,
            "memory_id": MEMORY_ID,
        }
    ],
}
SUMMARY: dict[str, Any] = {"summary": f"## What holds\n- 2026-11-19: {_CONTENT}"}
SESSION_DELETED: dict[str, Any] = {"memories": 12, "messages": 0, "more": False}

LISTED_AGENT: dict[str, Any] = {
    "agent_id": AGENT_ID,
    "memories": 81,
    "bytes": 12_300,
    "first_stored_at": "2026-11-19T14:05:00.000Z",
    "last_stored_at": MOMENT,
}
SET_AGENT: dict[str, Any] = {"retention_days": 90}
AGENT: dict[str, Any] = {"agent_id": AGENT_ID, "retention_days": 90, "long_term_enabled": True, "tools": "recall_store"}

_ERASURE: dict[str, Any] = {"id": OPERATION_ID, "kind": "erase", "agent_id": AGENT_ID, "accepted_at": MOMENT}
ERASING: dict[str, Any] = {**_ERASURE, "status": "running", "memories": 0}
ERASED: dict[str, Any] = {
    **_ERASURE,
    "status": "done",
    "memories": 81,
    "receipt": {
        "ended_at": "2026-11-20T09:31:12.480Z",
        "erased": {
            "memories": 81,
            "outbox_rows": 0,
            "dead_letters": 0,
            "idempotency_keys": 3,
            "messages": 0,
            "blobs": 2,
            "episodes": 240,
        },
        "found_by_id": 0,
        "found_by_search": 0,
    },
}

INGEST: dict[str, Any] = {
    "session_id": "call-17",
    "messages": [
        {"role": "user", "content": "Please send our invoices in Swedish", "occurred_at": "2026-11-19T14:05:00Z"},
        {"role": "assistant", "content": "They will come in Swedish from now on."},
    ],
}
INGESTED: dict[str, Any] = {
    "session_id": "call-17",
    "operation_id": OPERATION_ID,
    "status": "done",
    "stored": 1,
    "known": 1,
    "waiting": 0,
    "failed": 0,
    "messages": [
        {"id": "2f0d3bb5e8f47f7dbb21ac5c0e7c4d11", "status": "known"},
        {"id": "9c1f6e0a7d3b45c28e64f0b1a2d37e58", "status": "stored"},
    ],
}
INGESTING: dict[str, Any] = {
    **INGESTED,
    "status": "running",
    "stored": 0,
    "waiting": 1,
    "messages": [
        {"id": "2f0d3bb5e8f47f7dbb21ac5c0e7c4d11", "status": "known"},
        {"id": "9c1f6e0a7d3b45c28e64f0b1a2d37e58", "status": "waiting"},
    ],
}
_INGESTION: dict[str, Any] = {
    "id": OPERATION_ID,
    "kind": "ingest",
    "agent_id": AGENT_ID,
    "session_id": "call-17",
    "accepted_at": MOMENT,
    "sent": 500,
    "known": 20,
}
INGESTION: dict[str, Any] = {**_INGESTION, "status": "running", "stored": 300}
INGEST_FAILED: dict[str, Any] = {
    **_INGESTION,
    "status": "failed",
    "ended_at": "2026-11-20T09:31:12.480Z",
    "stored": 410,
    "failure": "quota_exceeded",
}

ALIVE: dict[str, Any] = {"status": "ok"}
_PARTS = (("index", "sqlite-exact"), ("embedder", _CONFIG.provider), ("data", _CONFIG.index_name))
_OTHER_PARTS = [{"name": name, "backend": backend, "status": "ok"} for name, backend in _PARTS]
_EMBEDDING = {"provider": _CONFIG.provider, "model": _CONFIG.model, "dimensions": _CONFIG.dimensions}
READY: dict[str, Any] = {
    "status": "ready",
    "embedding_config": _EMBEDDING,
    "parts": [{"name": "database", "backend": "sqlite", "status": "ok"}, *_OTHER_PARTS],
}
NOT_READY: dict[str, Any] = {
    "status": "not_ready",
    "embedding_config": _EMBEDDING,
    "parts": [
        {
            "name": "database",
            "backend": "sqlite",
            "status": "failing",
            "code": "database_unavailable",
            "detail": "The database cannot be opened.",
        },
        *_OTHER_PARTS,
    ],
}


def error(kind: type[MemoryGatewayError]) -> MemoryGatewayError:
    """Return an example of this kind of error; the kind's docstring is its detail unless its constructor sets one."""
    meaning = (inspect.getdoc(kind) or kind.title).replace("``", "`")
    if kind is InvalidRequest:
        return invalid([{"type": "extra_forbidden", "loc": ("body", "tenant"), "msg": "forbidden"}])
    if kind is SensitiveContent:
        return SensitiveContent.of([FieldError("content", "has a token, which is not kept")])
    if kind is EmbeddingConfigMismatch:
        return EmbeddingConfigMismatch(stored=_CONFIG, configured=EmbeddingConfig("hashing", "ngrams-v1", 384))
    if issubclass(kind, QuotaExceeded):
        return kind(meaning, reached="stores_per_minute", retry_after=12)
    if issubclass(kind, RateLimited | CircuitOpen):
        return kind(meaning, retry_after=30)
    return LongTermDisabled() if kind is LongTermDisabled else kind(meaning)


def _lines() -> str:
    record = Record(
        agent_id=AGENT_ID,
        content=_CONTENT,
        metadata=_METADATA,
        id=MEMORY_ID,
        created_at=milliseconds(parse_moment(MOMENT)),
    )
    return whole_file(Manifest("acme", None, 1, [_CONFIG.label], vectors=False), [memory_line(record)]).decode()


def _report() -> str:
    report = ImportReport()
    report.lines, report.manifest, report.end = 3, True, "holds"
    report.add(ImportLine(2, MEMORY_ID, "imported"))
    text = b"".join(report.chunks()).decode()
    report.close()
    return text


LINES = _lines()
"""The lines of a complete export."""
REPORT = _report()
"""The answer to an import of these lines into an empty tenant."""
