"""A reader that knows what the agents' statements mean, and what must follow of it, whatever has happened before."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.reading import Kinds, Relation
from tests.services.scripted_reader import HOLDS, REPLACES, RESTATES, ScriptedReader
from tests.simulation.statements import FACTS, MEANT
from tests.simulation.world import World
from tests.support.tables import ANY

MOST = 8
"""Memories of an agent, so that each is compared with all others."""
_MEMORIES = ("tenant_id", "agent_id", "id", "content", "happened_at", "superseded_at", "statements_read = 1")


class KnowingReader(ScriptedReader):
    """Says of two statements of one key, of which one at most is a fact, whether the newer has another value."""

    def relation(self, older: str, newer: str) -> Relation:
        assert not {older, newer} <= FACTS.keys(), "facts are compared by their keys"
        one, other = MEANT.get(older), MEANT.get(newer)
        if one is None or other is None or one.key != other.key:
            return HOLDS
        return RESTATES if one.value == other.value else REPLACES

    async def kinds(
        self, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[Kinds]:
        return await super().kinds(texts, tenant_id=tenant_id, seconds=seconds)


@dataclass(frozen=True, slots=True)
class Row:
    """A memory as it is stored."""

    tenant_id: str
    agent_id: str
    id: str
    content: str
    happened_at: int
    superseded_at: int | None
    read: bool

    def is_replaced_by(self, other: "Row") -> bool:
        """Tell whether another memory is later, and states another value of its key."""
        own, said = MEANT.get(self.content), MEANT.get(other.content)
        if own is None or said is None or own.key != said.key or own.value == said.value:
            return False
        return (self.happened_at, self.id) < (other.happened_at, other.id)

    def has_a_key_like(self, other: "Row") -> bool:
        """Tell whether both are facts, which replace each other by their keys, whoever has read them."""
        return self.content in FACTS and other.content in FACTS


def misrelated(world: World) -> set[str]:
    """Name every memory of which what is recorded does not follow from the memories that are there.

    Of two that were read, each that was replaced has its relation; nothing else has one, and no two facts. Claims and
    what is superseded follow from the relations and from the keys of facts alone.
    """
    rows = [Row(*row) for row in world.file.rows_of("long_term_memory", *_MEMORIES)]
    by_agent: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        by_agent[row.tenant_id, row.agent_id].append(row)
    recorded = set(
        world.file.rows_of("relation", "tenant_id", "agent_id", "older_id", "newer_id", "effect", effect=ANY)
    )
    allowed, needed = set[tuple[object, ...]](), set[tuple[object, ...]]()
    wrong = set[str]()
    for (tenant_id, agent_id), own in by_agent.items():
        for older in own:
            later = [newer for newer in own if older.is_replaced_by(newer)]
            effect = "hides" if older.content in MEANT and MEANT[older.content].whole else "newer_first"
            by_key = [newer for newer in later if older.has_a_key_like(newer)]
            relations = {(tenant_id, agent_id, older.id, one.id, effect): one for one in later if one not in by_key}
            allowed |= relations.keys()
            needed |= {key for key, newer in relations.items() if older.read and newer.read}
            ends = [newer.happened_at for key, newer in relations.items() if key in recorded and effect == "hides"]
            ends += [newer.happened_at for newer in by_key]
            if older.superseded_at != min(ends, default=None):
                wrong.add(older.id)
    wrong |= {str(relation[2]) for relation in (recorded - allowed) | (needed - recorded)}
    claims = {
        (tenant_id, agent_id, f"~{older_id}:{newer_id}", id_, id_)
        for tenant_id, agent_id, older_id, newer_id, _ in recorded
        for id_ in (older_id, newer_id)
    }
    told = [(row, MEANT[row.content]) for row in rows if row.content in FACTS]
    claims |= {(row.tenant_id, row.agent_id, said.key, row.id, said.value) for row, said in told}
    return wrong | {
        str(claim[3])
        for claim in claims ^ set(world.file.rows_of("claim", "tenant_id", "agent_id", "key", "memory_id", "value"))
    }


def waiting(world: World) -> int:
    """Return how many memories the reader has still to read."""
    return len([read for read in world.file.column_of("long_term_memory", "statements_read") if not read])
