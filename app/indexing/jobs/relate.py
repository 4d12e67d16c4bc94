"""Compares memories with their nearest by a reader, in the background. Crosses tenants; no request imports it."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
import structlog

from app.domain.claim import MemoryType, Stated
from app.domain.comparing import MAX_PAIRS, ComparedStatement, effect_of, may_bear, ordered, strongest, to_read
from app.domain.embedding import EmbeddingConfig, Vector, decode, lengths
from app.domain.errors import MemoryGatewayError
from app.domain.explicit import read_explicit, said_by
from app.domain.memory import STORE_KEY, Scope
from app.domain.query import Filter
from app.domain.reading import Kinds, Relation, Thresholds
from app.indexing.embedding_registry import OpenIndex
from app.language.telling import are_apart, language_of
from app.ports.database import Database
from app.ports.reader import Reader
from app.storage.outbox import queued_vectors
from app.storage.system import relating
from app.storage.system.relating import Found, MemoryAddress, RelatedMemory

_Pair = tuple[ComparedStatement, ComparedStatement]
"""An older and a newer memory."""
BATCH = 16
"""Memories that are read in one round."""
_NEAR = 2 * MAX_PAIRS
"""Hits that the index returns for a memory; some of them may not be compared."""
_AT_ONCE = 4
"""Queries to the index at once."""


class Relating:
    """Compares memories that wait with the nearest memories of their scope, and writes the relations and claims.

    A round may stop anywhere: memories that it has not written still wait. Two rounds at once write the same.
    """

    def __init__(
        self,
        database: Database,
        reader: Reader,
        index_of: OpenIndex,
        config: Callable[[], EmbeddingConfig],
        *,
        holder: str,
    ) -> None:
        """Take the ports, and this process's name; ``config`` returns the embedding config in use."""
        self._holder = holder
        self._database = database
        self._reader = reader
        self._index_of = index_of
        self._config = config
        self._after = ""
        """The last memory that was taken of those left over: memories that cannot be read do not hold up the others."""

    async def begin(self) -> None:
        """Let all memories be read anew that were read with other weights; raises ``Unavailable``."""
        version = self._reader.version
        await self._database.run([relating.begin(version)])

    async def sweep(self) -> bool:
        """Let the next memories wait that were read with other weights, or never; return whether there may be more.

        Raises:
            Unavailable: the database does not answer.
        """
        _, moved, adopted = await self._database.run([*relating.sweep(self._reader.version), relating.adopt()])
        return bool(adopted) or any(row["after"] is not None for row in moved)

    async def left_over(self) -> list[MemoryAddress] | None:
        """Return the next memories that wait; None where another process has the lease of reading them.

        The memories come in turn, each once, whether it could be read or not. After the last memory the list is empty;
        the call after that begins with the first memory again.

        Raises:
            Unavailable: the database does not answer.
        """
        held, rows = await self._database.run(
            [relating.LEASE.hold(self._holder), relating.read_next(BATCH, self._after)]
        )
        if not held:
            return None
        self._after = str(rows[-1]["id"]) if rows else ""
        return [MemoryAddress(str(row["tenant_id"]), str(row["agent_id"]), str(row["id"])) for row in rows]

    async def read(self, memories: Sequence[MemoryAddress]) -> int:
        """Read memories of any scopes, as many as a round has, and return how many of them were still waiting.

        Memories that cannot be read together are read one by one. A memory that cannot be read while others can still
        waits, and the log says why.

        Raises:
            Exception: no memory can be read, for the reason that is raised; all of them still wait.
        """
        try:
            return await self._round(memories)
        except Exception as error:
            if len(memories) == 1:
                _log_unread(memories[0], error)
                raise
        return await self._one_by_one(memories)

    async def _one_by_one(self, memories: Sequence[MemoryAddress]) -> int:
        failed: list[tuple[MemoryAddress, Exception]] = []
        read = 0
        for memory in memories:
            try:
                read += await self._round([memory])
            except Exception as error:  # noqa: BLE001 - raised below, or logged where it is this memory's alone
                failed.append((memory, error))
        if len(failed) == len(memories):
            raise failed[-1][1]
        for memory, reason in failed:
            _log_unread(memory, reason)
        return read

    async def _round(self, memories: Sequence[MemoryAddress]) -> int:
        config = self._config()
        scopes = sorted({(memory.tenant_id, memory.agent_id) for memory in memories})
        pending_of = [relating.read_pending(Scope(*scope), config.index_name) for scope in scopes]
        rows, *queued = await self._database.run([relating.read_unread(memories, config.index_name), *pending_of])
        unread = relating.read_compared(rows)
        pending = {
            Scope(*scope): queued_vectors(each, config.dimensions) for scope, each in zip(scopes, queued, strict=True)
        }
        vectors = await self._vectors(unread, config)

        turns = asyncio.Semaphore(_AT_ONCE)

        async def near(memory: RelatedMemory) -> list[str]:
            vector = vectors.get(memory.id)
            if vector is None:
                return []
            queued_near = pending[memory.named.scope].cosines(vector)
            async with turns:
                return await self._near(memory, vector, config, queued_near)

        nearest = await asyncio.gather(*map(near, unread))
        ids = dict(zip((memory.id for memory in unread), nearest, strict=True))
        others = await self._others(unread, ids)
        for tenant_id in sorted({memory.tenant_id for memory in unread}):
            own = [memory for memory in unread if memory.tenant_id == tenant_id]
            await self._relate(tenant_id, own, ids, others)
        return len(unread)

    async def _vectors(self, unread: Sequence[RelatedMemory], config: EmbeddingConfig) -> Mapping[str, Vector]:
        """Return the memories' vectors, as queued, else as the index shows them; some memories may have no vector."""
        found: dict[str, Vector] = {}
        missing: defaultdict[str, list[str]] = defaultdict(list)
        for memory in unread:
            if STORE_KEY in memory.metadata:
                continue
            if memory.vector is None or len(memory.vector) not in lengths(config.dimensions):
                missing[memory.tenant_id].append(memory.id)
            else:
                found[memory.id] = _unit(decode(memory.vector, config.dimensions))
        for tenant_id, ids in missing.items():
            found |= await self._index_of(config).vectors(tenant_id, ids)
        return found

    async def _near(
        self, memory: RelatedMemory, vector: Vector, config: EmbeddingConfig, pending: Mapping[str, float]
    ) -> list[str]:
        """Return the ids of the nearest memories of the scope, as the index and the outbox have them, nearest first."""
        scope = memory.named.scope
        hits = await self._index_of(config).query(scope, vector, top_k=_NEAR + 1, where=Filter())
        cosines = {hit.id: hit.score for hit in hits.hits} | dict(pending)
        cosines.pop(memory.id, None)
        return sorted(cosines, key=lambda id_: -cosines[id_])[:_NEAR]

    async def _others(
        self, unread: Sequence[RelatedMemory], ids: Mapping[str, Sequence[str]]
    ) -> Mapping[str, RelatedMemory]:
        wanted = {
            MemoryAddress(memory.tenant_id, memory.agent_id, id_): None for memory in unread for id_ in ids[memory.id]
        }
        if not wanted:
            return {}
        (rows,) = await self._database.run([relating.read_near(list(wanted))])
        return {memory.id: memory for memory in relating.read_compared(rows)}

    async def _relate(
        self,
        tenant_id: str,
        unread: Sequence[RelatedMemory],
        ids: Mapping[str, Sequence[str]],
        others: Mapping[str, RelatedMemory],
    ) -> None:
        """Read one tenant's memories, and write their relations and claims."""
        found: dict[tuple[str, str], Found] = {}
        compared: set[tuple[str, str]] = set()
        for memory in unread:
            near = [others[id_] for id_ in ids[memory.id] if id_ in others]
            for one in await self._compare(tenant_id, memory, near, compared):
                found[one.older_id, one.newer_id] = one
        read = await self._read(tenant_id, unread)
        await self._database.run(relating.write(read, list(found.values()), self._reader.version))

    async def _read(self, tenant_id: str, unread: Sequence[RelatedMemory]) -> list[tuple[RelatedMemory, Stated]]:
        """Return memories, each with what it states; rows that a program keeps for itself are not read."""
        kept = [memory for memory in unread if STORE_KEY in memory.metadata]
        plain = [memory for memory in unread if STORE_KEY not in memory.metadata]
        kinds = await self._reader.kinds([memory.content for memory in plain], tenant_id=tenant_id) if plain else []
        stated = [_stated(memory, kind, self._reader.thresholds) for memory, kind in zip(plain, kinds, strict=True)]
        return [*((memory, Stated()) for memory in kept), *zip(plain, stated, strict=True)]

    async def _compare(
        self, tenant_id: str, memory: RelatedMemory, near: Iterable[RelatedMemory], compared: set[tuple[str, str]]
    ) -> list[Found]:
        """Compare a memory with the nearest memories, where one may bear on the other: memories that hold come first.

        Pairs that were ``compared`` in this round already are left out, and the other pairs are added to ``compared``.
        """
        nearest = sorted(near, key=lambda one: one.superseded_at is not None)
        others = [other.statement for other in nearest]
        pairs, passages = await asyncio.to_thread(_to_compare, memory.statement, others, compared)
        compared |= {(older.id, newer.id) for older, newer in pairs}
        asked = [passage for each in passages for passage in each]
        if not asked:
            return []
        answers = iter(await self._reader.relations(asked, tenant_id=tenant_id))
        relations = [[next(answers) for _ in each] for each in passages]
        return await asyncio.to_thread(self._found, tenant_id, pairs, relations)

    def _found(self, tenant_id: str, pairs: Sequence[_Pair], relations: Sequence[Sequence[Relation]]) -> list[Found]:
        """Return what the relations of each pair's passages say of the pair, unless both memories hold."""
        found: list[Found] = []
        for (older, newer), of_pair in zip(pairs, relations, strict=True):
            relation, effect = strongest(of_pair), effect_of(of_pair, self._reader.thresholds, older, newer)
            if effect is not None or relation.name != "holds":
                update = min(1.0, round(relation.update, 4))
                found.append(Found(tenant_id, older.id, newer.id, relation.name, update, effect))
        return found


def _log_unread(memory: MemoryAddress, error: Exception) -> None:
    reason = error.detail if isinstance(error, MemoryGatewayError) else repr(error)
    structlog.get_logger().warning("memory_unread", tenant=memory.tenant_id, memory=memory.id, reason=reason)


def _to_compare(
    own: ComparedStatement, others: Sequence[ComparedStatement], compared: AbstractSet[tuple[str, str]]
) -> tuple[list[_Pair], list[Sequence[tuple[str, str]]]]:
    """Return the first pairs, older and newer, whose newer memory may bear on the older, and the passages of each.

    Compared pairs are left out. Two statements in different languages are not compared: to a reader, a translation
    looks like an update. A thread does this, since it takes a tenth of a second where memories are long.
    """
    language = language_of(own.content)
    same = (other for other in others if not are_apart(language, language_of(other.content)))
    first = [pair for other in same if may_bear(*(pair := ordered(own, other)))][:MAX_PAIRS]
    pairs = [(older, newer) for older, newer in first if (older.id, newer.id) not in compared]
    return pairs, [to_read(*pair) for pair in pairs]


def _stated(memory: RelatedMemory, kinds: Kinds, thresholds: Thresholds) -> Stated:
    """Return what a memory states explicitly, as far as its author may say so, and its type."""
    stated = read_explicit(memory.metadata, memory.learned, memory.content, memory.type)
    if memory.learned is None and not stated.claims:
        return Stated(type=kind_of(kinds, thresholds))
    return said_by(stated, memory.speakers) if memory.speaker_holds else replace(stated, claims=())


def kind_of(kinds: Kinds, thresholds: Thresholds) -> MemoryType:
    """Return the type of a memory: a task only where the reader is sure, because a task may expire."""
    if kinds.name != "task" or kinds.task >= thresholds.task:
        return kinds.name
    return replace(kinds, task=0.0).name


def _unit(vector: Vector) -> Vector:
    """Return the vector with length 1: rounding has changed its length a little."""
    length = float(np.linalg.norm(vector))
    return vector if length == 0 else vector / length
