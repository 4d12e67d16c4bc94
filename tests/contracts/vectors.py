"""Vectors for the contracts of an index: whose they are, and where they point."""

from collections.abc import Mapping

import numpy as np

from app.domain.embedding import Vector
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.ports.vector_index import IndexedVector
from tests.contracts.conftest import CONFIG

OWN = Scope("tenant", "agent")
OTHERS = [Scope("tenant", "other"), Scope("other", "agent"), Scope("agent", "tenant"), Scope("tenan", "tagent")]


def unit(*values: float) -> Vector:
    vector = np.zeros(CONFIG.dimensions, np.float32)
    vector[: len(values)] = values
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def random_unit(seed: int) -> Vector:
    return unit(*np.random.default_rng(seed).normal(size=CONFIG.dimensions).tolist())


def memory_id(n: int) -> str:
    return f"01K{n:023d}"


def vector(
    n: int,
    values: Vector,
    *,
    scope: Scope = OWN,
    created_at: int = 1000,
    revision: int = 1,
    metadata: Mapping[str, Json] | None = None,
) -> IndexedVector:
    return IndexedVector(scope, memory_id(n), values, created_at, revision, metadata or {})
