"""Examples of facts for the OpenAPI document."""

from typing import Any

from app.interfaces.http.schemas.examples import AGENT_ID, MEMORY_ID, MOMENT

_PARTS: dict[str, Any] = {"subject": "user", "predicate": "lives in", "object": "Oslo"}

LEARN: dict[str, Any] = {"agent_id": AGENT_ID, **_PARTS, "confidence": 0.9, "fact_id": "home", "single": True}
LEARNED: dict[str, Any] = {"fact_id": "home", "memory_id": MEMORY_ID, **_PARTS, "holds": True}
RECALL: dict[str, Any] = {"agent_id": AGENT_ID, "query": "Where is the customer at home?", "top_k": 3}
_FACT: dict[str, Any] = {"memory_id": MEMORY_ID, "content": "user lives in - Oslo", **_PARTS, "confidence": 0.9}
RECALLED: dict[str, Any] = {
    "entries": [{**_FACT, "fact_id": "home", "score": 0.93, "created_at": MOMENT}],
}
FACTS: dict[str, Any] = {"facts": [{**_FACT, "fact_id": "home", "since": MOMENT, "holds": True}]}
