"""One recall's searches in the vector index: by the query, and by a hypothetical answer to the query."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import structlog

from app.domain.audit import RecallNote
from app.domain.embedding import USUAL_SCALE, CosineScale, EmbeddingConfig, Vector
from app.domain.errors import Unavailable, UpstreamTimeout
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.embedder import Embeddings
from app.ports.vector_index import AwaitedHits, Hit, Hits
from app.retrieval.channels import vector
from app.services.tenant.backends import TenantBackends, TenantIndex
from app.storage.outbox import Had, PendingVectors, QueuedRows, QueuedVectors, memory_of


@dataclass(frozen=True, slots=True)
class Outage:
    """A part of a recall that did not answer, as ``degraded`` names it, and why."""

    part: str
    error: Unavailable


class VectorSearch:
    """The hits of one recall in the index, as many as were asked for so far."""

    def __init__(
        self,
        backends: TenantBackends,
        config: EmbeddingConfig,
        scope: Scope,
        where: Filter,
        note: RecallNote | None = None,
    ) -> None:
        """Bind a scope and a filter; ``note`` counts the embedded characters and the queries of the index."""
        self._backends = backends
        self.config = config
        self._scope = scope
        self._where = where
        self._note = note
        self._query = _Search()
        self._needs: Sequence[_Search] = ()
        """The searches for the questions asked apart, where one message asks several."""
        self._merged: Hits | None = None
        """The hits of the query and of these searches together; None where no question is asked apart."""
        self.hypothetical = _Search()
        """The search by the hypothetical answer."""
        self._unreadable = 0
        """The number of queued vectors that are damaged."""

    @cached_property
    def _index(self) -> TenantIndex:
        return self._backends.data.index_of(self.config)

    @property
    def hits(self) -> Hits:
        """The hits for the query and for the questions asked apart; each memory has its best score among them."""
        return self._query.hits if self._merged is None else self._merged

    @property
    def outage(self) -> Outage | None:
        """The first outage of the searches for the query and the questions asked apart; None without an outage."""
        return next((search.outage for search in (self._query, *self._needs) if search.outage is not None), None)

    @property
    def outages(self) -> Sequence[Outage]:
        """The outages of all searches: by the query, for the questions asked apart, and by the hypothetical answer."""
        searches = (self._query, *self._needs, self.hypothetical)
        return [search.outage for search in searches if search.outage is not None]

    @property
    def degraded(self) -> Sequence[str]:
        """The parts of ``degraded``: an outage of the hypothetical answer, and damaged vectors, which are left out."""
        parts = [] if self.hypothetical.outage is None else [self.hypothetical.outage.part]
        unreadable = self.hits.unreadable + self._unreadable
        if unreadable:
            structlog.get_logger().warning("vectors_unreadable", vectors=unreadable)
        return [*parts, "vectors_unreadable"] if unreadable else parts

    @property
    def scale(self) -> CosineScale:
        """The scale of the cosines."""
        return USUAL_SCALE if self._query.vector is None else self._backends.models.scale_of(self.config)

    async def embed(self, query: str, needs: Sequence[str] = ()) -> None:
        """Embed the query and the questions asked apart, in one call; where that fails, note the outage.

        Raises:
            EmbeddingConfigMismatch: this process cannot embed with the config.
        """
        # A config that this process cannot embed with is an error, and no outage of a part.
        self._backends.models.embedder_of(self.config)
        try:
            embedded = await self._backends.models.embed_queries(self.config, [query, *needs])
        except Unavailable as error:
            self._query.outage = _embedder_away(error)
            return
        if self._note is not None:
            self._note.cached = embedded.cached
            self._note.embedded(embedded.characters, embedded.tokens)
        whole, *apart = embedded.vectors
        self._query.begin(whole)
        self._needs = [_Search() for _ in apart]
        for need, vector_ in zip(self._needs, apart, strict=True):
            need.begin(vector_)

    async def ask_hypothetical(self, statement: str, depth: int) -> None:
        """Embed the hypothetical answer, and ask for vectors near it; where that fails, note the outage."""
        try:
            embedded = await self._embed_statement(statement)
        except Unavailable as error:
            self.hypothetical.outage = _embedder_away(error)
            return
        if self._note is not None:
            self._note.embedded(len(statement), embedded.tokens)
        self.hypothetical.begin(embedded.vectors[0])
        await self._ask(self.hypothetical, depth)

    async def _embed_statement(self, statement: str) -> Embeddings:
        """Embed the statement as a document within a recall part's time; other calls for documents may have more."""
        try:
            async with asyncio.timeout(self._backends.models.recall_part_seconds):
                return await self._backends.models.embedder_of(self.config).embed([statement], "document")
        except TimeoutError as error:
            raise UpstreamTimeout("The embedder did not answer in time.") from error

    @property
    def awaited(self) -> AwaitedHits | None:
        """The query's awaited hits, where the run that reads the candidates is to ask the index; else None."""
        return self._query.awaited

    async def ask(self, depth: int, *, within: bool = False) -> None:
        """Ask for ``depth`` hits for the query, where there may be more than were given.

        ``within``: let the run that reads the candidates ask, where it can; ``settle`` then takes the hits.
        """
        asked = self._query
        if within and asked.vector is not None and not self._needs:
            asked.awaited = self._index.ask_within(self._scope, asked.vector, top_k=depth, where=self._where)
        if asked.awaited is None and not self._needs:
            await self._ask(asked, depth)
            return
        if asked.awaited is None:
            searches = (asked, *self._needs)
            await asyncio.gather(*(self._ask(search, depth) for search in searches))
            self._merged = merged([search.hits for search in searches])
            return
        if self._note is not None:
            self._note.index_queries += 1
        asked.hits = asked.awaited.until_then

    async def settle(self, depth: int) -> bool:
        """Take the hits that a run was to ask for, or ask for them now. Return whether the run has read with them."""
        asked, awaited = self._query, self._query.awaited
        if awaited is None:
            return True
        asked.awaited = None
        if awaited.hits is not None:
            asked.hits = awaited.hits
        elif awaited.error is not None:
            asked.lose(awaited.error)
        else:
            asked.hits = replace(asked.hits, more=True)
            await self._ask(asked, depth)
        return awaited.hits is not None

    @property
    def pending(self) -> PendingVectors:
        """The scope's queued vectors that this process has."""
        found = self._backends.data.caches.pending.find((self._scope, self.config.index_name))
        return PendingVectors(self.config.dimensions) if found is None else found

    def near(self, pending: PendingVectors, depth: int) -> Sequence[str] | None:
        """Return the ids of the queued vectors nearest to the searches, ``depth`` of each; None where these are all.

        With a filter it is None too: the nearest may not pass it, and which pass only the database knows.
        """
        if self._where:
            return None
        searches = (self._query, *self._needs, self.hypothetical)
        return pending.nearest([search.vector for search in searches if search.vector is not None], depth)

    def take(self, rows: QueuedRows, had: Had) -> QueuedVectors | Had:
        """Return the queued vectors that a run has read, or what to tell it instead where one of them is missing."""
        pending = self.pending
        queued = pending.take(rows, had, are_all=not self._where)
        if rows.vectors:
            self._keep(pending)
        if queued is None:  # another process has queued it, at a moment that this process thought it knew
            return pending.had_of(rows.names) if had.since else Had()
        self._unreadable = queued.unreadable
        return queued

    def crowded_out(self, near: Collection[str] | None, rows: QueuedRows, had: Had) -> Had | None:
        """Return what to tell a run instead where others would have been near; None where none would.

        Deleted vectors, and those that a model may not see, stood among the nearest in the place of listed ones.
        """
        if near is None or not set(near).difference(map(memory_of, rows.names)):
            return None
        if all(memory_of(name) in near or not had.has(name) for name in rows.names):
            return None
        pending = self.pending
        pending.forget_others(rows.names)
        self._keep(pending)
        return pending.had_of(rows.names)

    def cosines(self, queued: QueuedVectors, present: Collection[str] | None) -> Mapping[str, float]:
        """Return the cosines of the hits and of the queued vectors, by id; with ``present`` only those of these ids."""
        cosines = self._cosines(self._query, queued, present)
        for need in self._needs:
            for id_, cosine in self._cosines(need, queued, present).items():
                cosines[id_] = max(cosine, cosines.get(id_, cosine))
        return cosines

    def hypothetical_cosines(self, queued: QueuedVectors, present: Collection[str] | None) -> Mapping[str, float]:
        """Return the cosines as ``cosines`` does, to the hypothetical answer; empty without such an answer."""
        return self._cosines(self.hypothetical, queued, present)

    def _keep(self, pending: PendingVectors) -> None:
        key = (self._scope, self.config.index_name)
        self._backends.data.caches.pending.put(self._scope.tenant_id, key, pending, pending.size)

    def _cosines(self, search: "_Search", queued: QueuedVectors, present: Collection[str] | None) -> dict[str, float]:
        anew = {} if search.vector is None else queued.cosines(search.vector)
        cosines = vector.cosines_of(search.hits.hits, anew, exact=self._index.visible_at_once)
        return cosines if present is None else {id_: cosines[id_] for id_ in present if id_ in cosines}

    async def _ask(self, search: "_Search", depth: int) -> None:
        if search.vector is None or not search.hits.more:
            return
        if self._note is not None:
            self._note.index_queries += 1
        try:
            search.hits = await self._index.query(self._scope, search.vector, top_k=depth, where=self._where)
            search.outage = None
        except Unavailable as error:
            search.lose(error)


def merged(answers: Sequence[Hits]) -> Hits:
    """Return the hits of several searches as those of one search: each id once, with its best score, best first.

    A search that found nothing, or was not answered, takes nothing from the others; where none was answered, no filter
    was applied.
    """
    best: dict[str, float] = {}
    for hits in answers:
        for hit in hits.hits:
            best[hit.id] = max(hit.score, best.get(hit.id, hit.score))
    return Hits(
        [Hit(id_, score) for id_, score in sorted(best.items(), key=lambda each: each[1], reverse=True)],
        filtered=all(hits.filtered for hits in answers if hits.hits) and any(hits.filtered for hits in answers),
        more=any(hits.more for hits in answers),
        unreadable=sum(hits.unreadable for hits in answers),
    )


@dataclass(slots=True)
class _Search:
    """A vector that the index is asked with, and its hits, or the outage that kept them away."""

    vector: Vector | None = None
    hits: Hits = field(default_factory=lambda: Hits([], filtered=False))
    outage: Outage | None = None
    awaited: AwaitedHits | None = None

    def lose(self, error: Unavailable) -> None:
        """Go without hits, and note the outage."""
        structlog.get_logger().warning("index_away", code=error.code, reason=error.detail)
        self.hits, self.outage = Hits([], filtered=False), Outage("index_unavailable", error)

    def begin(self, embedded: Vector) -> None:
        """Begin with a vector that the index was not asked with yet."""
        given = self.hits
        self.vector, self.hits = embedded, Hits(given.hits, given.filtered, more=True, unreadable=given.unreadable)


def _embedder_away(error: Unavailable) -> Outage:
    structlog.get_logger().warning("embedder_away", code=error.code, reason=error.detail)
    return Outage("embedder_unavailable", error)
