"""An index of four dimensions and what the tests put into it."""

from typing import Any

import numpy as np

from app.adapters.cloudflare.vectorize_conditions import IndexType
from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.memory import Scope
from app.ports.vector_index import IndexedVector

CONFIG = EmbeddingConfig("openai", "text-embedding-3-small", 4)
INDEX = "/vectorize/v2/indexes/lt-memory-openai-text-embedding-3-small"
FILTERABLE: dict[str, IndexType] = {"text": "string", "number": "number", "flag": "boolean"}
SCOPE = Scope("tenant-1", "agent-1")
OTHERS = [Scope("tenant-2", "agent-1"), Scope("tenant-1", "agent-2"), Scope("tenant-2", "agent-2")]
VECTOR: Vector = np.array([0.1, -0.2, 0.3, 0.4], np.float32)


def vector(id_: str, *, values: Vector = VECTOR, scope: Scope = SCOPE, **metadata: Any) -> IndexedVector:
    return IndexedVector(scope, id_, values, created_at=1_700_000_000_123, revision=7, metadata=metadata)


def stored(id_: str, scope: Scope = SCOPE) -> dict[str, Any]:
    """A vector as the index shows it."""
    return {"id": id_, "values": [0.0] * 4, "metadata": {"tenant_id": scope.tenant_id, "agent_id": scope.agent_id}}
