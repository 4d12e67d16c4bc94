"""The ``VectorIndex`` port on Cloudflare Vectorize v2, over REST.

https://developers.cloudflare.com/api/resources/vectorize/subresources/indexes/
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import structlog

from app.adapters.breaker import Breaker
from app.adapters.cloudflare import vectorize_answers as answers
from app.adapters.cloudflare import vectorize_conditions as conditions
from app.adapters.cloudflare.client import CloudflareAnswer, CloudflareClient
from app.adapters.cloudflare.fused_hits import FusedHits
from app.adapters.cloudflare.responses import Refusal
from app.adapters.cloudflare.transport import RECALL_FUSED
from app.adapters.cloudflare.vectorize_conditions import IndexType
from app.adapters.upstream import Call
from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import (
    CursorExpired,
    IndexNotProvisioned,
    MemoryGatewayError,
    UpstreamOverloaded,
    UpstreamRejected,
    VectorRefused,
)
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.domain.moments import milliseconds, parse_moment
from app.domain.query import RECALL_PART_SECONDS, Filter
from app.ports.index_admin import Expected, IdPage, IndexRecord
from app.ports.vector_index import AsksWithin, Hits, IndexedVector
from app.storage.outbox import GRACE_MS

SCOPE_TYPES: Mapping[str, IndexType] = {"tenant_id": "string", "agent_id": "string", "created_at": "number"}
"""The metadata indexes of every index; Vectorize allows ten, so seven more can be declared."""

# https://developers.cloudflare.com/vectorize/platform/limits/
_TOP_K = 100
_LIST_IDS = 1_000
_UPSERT_VECTORS = 1_000
"""Vectors that a Worker's binding takes; REST takes 5,000 (https://developers.cloudflare.com/vectorize/platform/limits/)."""
_UPSERT_BYTES = 8_000_000
"""Vectorize accepts 100 MB; this size passes a slow line within the deadline of a call."""

# Not documented; modest sizes that have not been refused so far.
_GET_IDS = 20
_DELETE_IDS = 100

_MARGIN_MS = 120_000
"""How far the index's watermark must be past a write: a batch holds the writes from before it began."""

_BAD_REQUEST = 400
_NOT_FOUND = {404, 410}
_OF_THE_CALLER = range(400, 500)
_NOT_FOR_WHAT_WAS_SENT = {401, 403, 404, 408, 410, 429}
"""Statuses from 400 to 499 that do not concern the vectors in the call."""

_THROTTLED = 40041


class VectorizeIndex(AsksWithin):
    """One Vectorize index, named after the embedding config. Implements ``app.ports.vector_index.VectorIndex``.

    A write becomes visible after about half a minute. Scores are approximate. Every query has the tenant and the
    agent in its filter. A filter key that is not declared, or whose value the index cannot compare exactly, is left
    to the database, and ``Hits.filtered`` is false. Vectorize cannot compare revisions: of two upserts of one id
    the upsert that arrives last wins.
    """

    visible_at_once = False
    confirm_seconds = 180.0
    """The margin of 120 s, and up to a minute for the processing of a batch."""
    removal_grace_ms = GRACE_MS

    def __init__(
        self,
        client: CloudflareClient,
        config: EmbeddingConfig,
        *,
        filterable: Mapping[str, IndexType],
        name: str | None = None,
        query_seconds: float = RECALL_PART_SECONDS,
    ) -> None:
        """Use a client that the caller closes; ``filterable`` are the metadata keys that have a metadata index.

        ``name`` is the index's name where it is not the config's: each shard has an index of its own. The deadline of a
        query is ``query_seconds``; other calls, for which no recall waits, have the client's deadline.
        """
        self._client = client
        self._config = config
        self.name = name or config.index_name
        self._filterable = filterable
        self.filterable = frozenset(filterable)
        self._path = f"/vectorize/v2/indexes/{self.name}"
        self._query_seconds = query_seconds
        of = "" if name is None else f"/{name}"
        self._queries = client.breakers.of(f"vectorize.query{of}")
        self._writes = client.breakers.of(f"vectorize.write{of}")
        self._reads = client.breakers.of(f"vectorize.read{of}")

    @property
    def backend(self) -> str:
        """The product, and the transport to it."""
        return self._client.transport.of("cloudflare-vectorize")

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        """Return the most similar vectors of the scope, always as many as Vectorize returns at once."""
        del top_k  # the additional hits replace those whose memory is gone, without another call
        condition, in_full = conditions.condition(scope, where, self._filterable)
        return _hits((await self._search(vector, _TOP_K, condition)).result, in_full=in_full)

    def ask_within(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> FusedHits | None:
        """Return the search that ``D1Database.run`` makes in its call; None where no edge answers both."""
        del top_k
        if RECALL_FUSED not in self._client.transport.features:
            return None
        condition, in_full = conditions.condition(scope, where, self._filterable)
        question = conditions.question(vector, _TOP_K, condition)
        return FusedHits(index_name=self.name, question=question, read=lambda result: _hits(result, in_full=in_full))

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        """Write the vectors, in as many calls as their size requires."""
        at = 0
        for body in _chunks(self._line(vector) for vector in vectors):
            path = f"{self._path}/upsert"
            call = Call("vectorize.upsert", "POST", path, body, "application/x-ndjson", breaker=self._writes)
            at = _acknowledged(await self._client.call(call, self._meaning_of_upsert))
        return at

    async def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove the vectors, except those that belong to another scope according to the index."""
        at = 0
        for start in range(0, len(ids), _DELETE_IDS):
            chunk = ids[start : start + _DELETE_IDS]
            foreign = {id_ for id_, held in (await self.held(chunk)).items() if held.scope != scope}
            own = [id_ for id_ in chunk if id_ not in foreign]
            if own:
                at = _acknowledged(await self._post("delete_by_ids", {"ids": own}, self._writes))
        return at

    async def held(self, ids: Sequence[str]) -> Mapping[str, IndexRecord]:
        """Read the vectors' metadata; a vector of another writer has a scope with empty names."""
        found: dict[str, IndexRecord] = {}
        async for answer in self._looked_at(ids):
            found |= answers.read_held(answer.result)
        return found

    async def vectors(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        """Read the vectors, in as many calls as ``held`` needs."""
        found: dict[str, Vector] = {}
        async for answer in self._looked_at(ids):
            found |= answers.read_vectors(answer.result, tenant_id, self._config.dimensions)
        return found

    async def agrees(self, expected: Sequence[Expected]) -> Mapping[str, bool]:
        """Read the vectors whole and compare them, in as many calls as ``held`` needs."""
        found: dict[str, bool] = {}
        wanted = {one.id: (one, self._metadata(one)) for one in expected}
        async for answer in self._looked_at([one.id for one in expected]):
            found |= answers.read_agreement(answer.result, wanted)
        return found

    async def list_ids(self, cursor: str | None = None) -> IdPage:
        """Return a page of the snapshot that a call without a cursor takes and Vectorize keeps for a while."""
        query = {"count": str(_LIST_IDS)} | ({} if cursor is None else {"cursor": cursor})
        call = Call("vectorize.list", "GET", f"{self._path}/list", query=query, breaker=self._reads)
        meaning = self._meaning if cursor is None else self._meaning_of_cursor
        return answers.read_listing((await self._client.call(call, meaning)).result)

    async def sample(self, tenant_id: str, agent_id: str | None = None) -> Sequence[str]:
        """Search for the vectors nearest to an arbitrary one."""
        probe = np.zeros(self._config.dimensions, np.float32)
        probe[0] = 1  # a unit vector, because cosine needs a direction
        condition = {"tenant_id": tenant_id} | ({} if agent_id is None else {"agent_id": agent_id})
        return [hit.id for hit in answers.read_hits((await self._search(probe, _TOP_K, condition)).result)]

    async def watermark(self) -> int:
        """Return the index's watermark less a margin, by Cloudflare's clock; 0 before anything was processed."""
        processed = (await self.info()).get("processedUpToDatetime")
        if not processed:
            return 0
        try:
            return max(0, milliseconds(parse_moment(str(processed))) - _MARGIN_MS)
        except ValueError as error:
            raise UpstreamRejected(f"Vectorize's mark {processed!r} is no moment.") from error

    async def destroy(self) -> None:
        """Delete the index; Cloudflare may refuse its name for a while afterwards."""
        try:
            await self._client.call(Call("vectorize.delete", "DELETE", self._path), self._meaning)
        except IndexNotProvisioned:
            structlog.get_logger().info("index_absent", index=self.name)

    async def ping(self) -> None:
        """Read the description of the index, within the time of a query: a probe of readiness may wait for it."""
        await self.info(seconds=self._query_seconds)

    async def check(self) -> None:
        """Return if the index has the properties that this service needs.

        Raises:
            IndexNotProvisioned: it is absent, has other dimensions, or lacks a metadata index: a filter on a
                key without such an index finds no vector, or all.
        """
        dimensions = (await self.info()).get("dimensions")
        if dimensions != self._config.dimensions:
            raise IndexNotProvisioned(
                f"The index {self.name} has {dimensions} dimensions, the embedder makes "
                f"{self._config.dimensions}. Choose another embedder or provision another index."
            )
        declared = await self.metadata_indexes()
        wanted = {**SCOPE_TYPES, **self._filterable}
        missing = sorted(f"{key} ({kind})" for key, kind in wanted.items() if declared.get(key) != kind)
        if missing:
            problem = f"The index {self.name} lacks the metadata index of {', '.join(missing)}."
            raise IndexNotProvisioned(problem, cure=self._cure)

    async def info(self, *, seconds: float | None = None) -> Mapping[str, Any]:
        """Return the description of the index."""
        call = Call("vectorize.info", "GET", f"{self._path}/info", seconds=seconds, breaker=self._reads)
        result = (await self._client.call(call, self._meaning)).result
        return result if isinstance(result, dict) else {}

    async def metadata_indexes(self) -> Mapping[str, str]:
        """Return the type of every metadata key that has an index."""
        call = Call("vectorize.metadata_index.list", "GET", f"{self._path}/metadata_index/list")
        return answers.read_metadata_indexes((await self._client.call(call, self._meaning)).result)

    async def _looked_at(self, ids: Sequence[str]) -> AsyncIterator[CloudflareAnswer]:
        for start in range(0, len(ids), _GET_IDS):
            yield await self._post("get_by_ids", {"ids": list(ids[start : start + _GET_IDS])}, self._reads)

    async def _search(self, vector: Vector, top_k: int, condition: Mapping[str, Json]) -> CloudflareAnswer:
        body = conditions.question(vector, top_k, condition)
        return await self._post("query", body, self._queries, seconds=self._query_seconds)

    async def _post(
        self, method: str, body: Mapping[str, Any], breaker: Breaker, *, seconds: float | None = None
    ) -> CloudflareAnswer:
        content = orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        path = f"{self._path}/{method}"
        call = Call(f"vectorize.{method}", "POST", path, content, seconds=seconds, breaker=breaker)
        return await self._client.call(call, self._meaning)

    def _metadata(self, vector: IndexedVector | Expected) -> dict[str, Json]:
        """Return the metadata of a vector, without its revision; of the memory's metadata only the declared keys."""
        declared = {key: value for key, value in vector.metadata.items() if self._is_declared(key, value)}
        return {
            **declared,
            "tenant_id": vector.scope.tenant_id,
            "agent_id": vector.scope.agent_id,
            "created_at": vector.created_at,
            "embedding": self._config.label,
        }

    def _line(self, vector: IndexedVector) -> bytes:
        metadata = {**self._metadata(vector), "revision": vector.revision}
        line = {"id": vector.id, "values": np.ascontiguousarray(vector.values), "metadata": metadata}
        return orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)

    def _is_declared(self, key: str, value: Json) -> bool:
        """Return whether the value is kept for filters. Long texts would exceed the 10 KiB of metadata of a vector."""
        kind = self._filterable.get(key)
        if isinstance(value, str) and len(value.encode()) >= conditions.INDEXED_BYTES:
            return False
        return kind is not None and type(value) in conditions.TYPES[kind]

    @property
    def _cure(self) -> str:
        """How an operator makes the index: ``provision`` makes that of the settings, and no other shard's."""
        cures = self._client.transport.cures
        return cures.index if self.name == self._config.index_name else cures.shard_index

    def _meaning(self, refusal: Refusal) -> MemoryGatewayError | None:
        if refusal.code == _THROTTLED:
            return UpstreamOverloaded(f"Vectorize: {refusal.message}")
        if refusal.status in _NOT_FOUND or refusal.code in answers.NO_SUCH_INDEX:
            return IndexNotProvisioned(f"The Vectorize index {self.name} does not exist.", cure=self._cure)
        return None

    def _meaning_of_upsert(self, refusal: Refusal) -> MemoryGatewayError | None:
        if (error := self._meaning(refusal)) is not None:
            return error
        by_vectorize = refusal.code > 0  # an intermediate edge, which has not read the vectors, gives no code
        if not by_vectorize or refusal.status not in _OF_THE_CALLER or refusal.status in _NOT_FOR_WHAT_WAS_SENT:
            return None
        return VectorRefused(f"Vectorize refused vectors with {refusal.status}/{refusal.code}: {refusal.message}.")

    def _meaning_of_cursor(self, refusal: Refusal) -> MemoryGatewayError | None:
        if (error := self._meaning(refusal)) is not None:
            return error
        if refusal.status != _BAD_REQUEST:
            return None
        return CursorExpired(f"Vectorize no longer knows the cursor ({refusal.code}): {refusal.message}.")


def _hits(result: Any, *, in_full: bool) -> Hits:  # noqa: ANN401 - as JSON has it
    hits = answers.read_hits(result)
    return Hits(hits, filtered=in_full or len(hits) < _TOP_K, more=False)


def _acknowledged(answer: CloudflareAnswer) -> int:
    """Return when a write was acknowledged; without this moment the write could never be confirmed."""
    if answer.at is None:
        raise UpstreamRejected("Vectorize acknowledged a write without a Date that can be read.")
    return answer.at


def _chunks(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Join lines into bodies that do not exceed the size of one call."""
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        if chunk and (len(chunk) == _UPSERT_VECTORS or size + len(line) > _UPSERT_BYTES):
            yield b"".join(chunk)
            chunk, size = [], 0
        chunk.append(line)
        size += len(line)
    if chunk:
        yield b"".join(chunk)
