"""Whether the stored versions are what the memories that are there say, and nothing else (ADR 0025)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from tests.simulation.operations import ViolationError
from tests.simulation.statements import TOLD, Said
from tests.simulation.world import World

_MEMORIES = (
    *("tenant_id", "agent_id", "id", "content", "session_id", "occurred_at", "happened_at", "forgotten_at IS NOT NULL"),
    *("superseded_at", "content_hash", "identity", "metadata -> '$.fact' IS NOT NULL"),
)
_CLAIMS = (
    *("tenant_id", "agent_id", "memory_id", "key", "value", "whole", "happened_at", "opens", "superseded_by"),
    "superseded_at",
)
_TOP_K = 50
Chain = Sequence["Stated"]
"""The memories that state one key of one agent, in the order in which they were said."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A row of a memory, with what it states."""

    tenant_id: str
    agent_id: str
    id: str
    content: str
    session_id: str | None
    occurred_at: int | None
    happened_at: int
    forgotten: bool
    superseded_at: int | None
    content_hash: str
    identity: str | None
    states: bool
    """Whether it was told as a fact: what is said in words alone states nothing."""

    @property
    def said(self) -> Said:
        return TOLD[self.content]


def chains(world: World) -> list[Chain]:
    """Read the chain of each key; what states nothing is in none."""
    rows = [Stated(*row) for row in world.file.rows_of("long_term_memory", *_MEMORIES)]
    found: dict[tuple[str, str, str], list[Stated]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.happened_at, row.id)):
        if row.content in TOLD and row.states:
            found[row.tenant_id, row.agent_id, row.said.key].append(row)
    return list(found.values())


def misplaced(world: World) -> set[str]:
    """Name every memory whose claim, or whose own state, does not follow from all that state its key.

    So at most one version of a key holds, and no chain forks or goes round.
    """
    wanted: dict[str, tuple[object, ...]] = {}
    wrong = set[str]()
    for chain in chains(world):
        for row, opens, opener in _versions(chain):
            by, at = (None, None) if opener is None else (opener.id, opener.happened_at)
            said = row.said
            rest = (said.key, said.value, said.whole, row.happened_at, opens, by, at)
            wanted[row.id] = (row.tenant_id, row.agent_id, row.id, *rest)
            if row.superseded_at != (at if said.whole else None):
                wrong.add(row.id)
        wrong |= _without_identity(chain)
    claimed = world.file.rows_of("claim", *_CLAIMS)
    return wrong | {str(row[2]) for row in {*claimed} ^ {*wanted.values()}}


def _versions(chain: Chain) -> list[tuple[Stated, bool, Stated | None]]:
    """Say of each memory whether it begins a version, and which memory begins the next one."""
    runs = [list(run) for _, run in groupby(chain, key=lambda row: row.said.value)]
    openers = [*(run[0] for run in runs[1:]), None]
    return [(row, row is run[0], opener) for run, opener in zip(runs, openers, strict=True) for row in run]


def _without_identity(chain: Chain) -> set[str]:
    """Name the memories that hold where a store of their content would not find one that does."""
    holding: dict[str, list[Stated]] = defaultdict(list)
    for row in chain:
        new = NewMemory(row.content, {}, row.session_id, row.occurred_at)
        if row.superseded_at is None or row.occurred_at is not None:
            holding[new.identity].append(row)
    lost = [rows for hash_, rows in holding.items() if sum(row.content_hash == hash_ for row in rows) != 1]
    return {row.id for rows in lost for row in rows}


async def check_past(world: World, scope: Scope) -> None:
    """Ask for one statement of each key as of a moment of its past: what held then is found, and nothing else."""
    for chain in chains(world):
        if (chain[0].tenant_id, chain[0].agent_id) != (scope.tenant_id, scope.agent_id):
            continue
        asked, as_of = world.random.choice(chain).content, world.random.choice(chain).happened_at
        gateway = world.replicas[0].gateway(scope.tenant_id)
        found = await gateway.recall(scope.agent_id, Query(asked, top_k=_TOP_K, as_of=as_of))
        ids = {entry.id for entry in found.entries if entry.content == asked}
        if ids != (held := _held(chain, asked, as_of)):
            raise ViolationError(f"as of {as_of}, {asked} is {sorted(ids)} and not {sorted(held)}")


def _held(chain: Chain, content: str, as_of: int) -> set[str]:
    """Return the memories of this content that held, or say more than what did not, and were not forgotten."""
    past = [row for row in chain if row.happened_at <= as_of]
    last = list(takewhile(lambda row: row.said.value == past[-1].said.value, reversed(past)))
    return {
        row.id for row in past if row.content == content and not row.forgotten and (row in last or not row.said.whole)
    }
