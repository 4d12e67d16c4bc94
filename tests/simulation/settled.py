"""What must hold once all is quiet, and what must hold at any moment."""

import numpy as np

from app.domain.embedding import Vector
from app.domain.learned import Learned
from app.domain.memory import Scope
from tests.simulation.chains import misplaced
from tests.simulation.embedder import CONFIG, vector_of
from tests.simulation.index import LateIndex
from tests.simulation.world import World
from tests.support.counts import COUNTED, TABLES, counting, full_count

Shown = dict[str, tuple[Scope, Vector]]


def shown(world: World) -> Shown:
    """Return every vector that the index shows."""
    if isinstance(world.index, LateIndex):
        return {id_: (vector.scope, vector.values) for id_, vector in world.index.shown.items()}
    columns = ("id", "tenant_id", "agent_id", "vector")
    rows = world.file.rows_of("local_vector", *columns, index_name=CONFIG.index_name)
    return {
        str(id_): (Scope(str(tenant), str(agent)), np.frombuffer(bytes(values), "<f4"))
        for id_, tenant, agent, values in rows
    }


def memories_of(world: World) -> Shown:
    """Return the vector that each memory ought to have."""
    rows = world.file.rows_of("long_term_memory", "id", "tenant_id", "agent_id", "content", "learned")
    return {
        str(id_): (Scope(str(tenant), str(agent)), vector_of(_embedded(str(content), learned)))
        for id_, tenant, agent, content, learned in rows
    }


def _embedded(content: str, learned: object) -> str:
    return content if learned is None else Learned.from_json(str(learned)).embedded_text(content)


def flaws(world: World) -> set[tuple[str, str]]:
    """Name every memory that neither the index nor the outbox knows, and every vector nobody will remove.

    And every memory that has another place among the versions of what it states than it ought to have.
    """
    memories = memories_of(world)
    rows = world.file.rows_of("outbox", "id", "operation", index_name=CONFIG.index_name)
    queued = {str(id_): operation for id_, operation in rows}
    vectors = shown(world)
    lost = [id_ for id_ in memories if id_ not in vectors and queued.get(id_) != "upsert"]
    stray = [id_ for id_ in vectors if id_ not in memories and queued.get(id_) != "delete"]
    wrong = [id_ for id_ in memories.keys() & vectors.keys() if not _same(memories[id_], vectors[id_])]
    named = {
        "lost": lost,
        "stray": stray,
        "wrong": wrong,
        "miscounted": miscounted(world),
        "misplaced": misplaced(world),
    }
    return {(kind, id_) for kind, ids in named.items() for id_ in ids}


def miscounted(world: World) -> list[str]:
    """Name every agent, and '' for its tenant, whose usage is not what a full count says."""
    counted = world.file.rows(COUNTED)
    there = full_count(row for sql in counting(world.file.rows(TABLES)) for row in world.file.rows(sql))
    return sorted(f"{tenant}/{agent}" for tenant, agent, *_ in {*counted} ^ {*there})


def left(world: World) -> list[tuple[object, ...]]:
    """Return what is still in the outbox."""
    return world.file.rows_of("outbox")


def _same(memory: tuple[Scope, Vector], vector: tuple[Scope, Vector]) -> bool:
    return memory[0] == vector[0] and float(memory[1] @ vector[1]) > 0.999
