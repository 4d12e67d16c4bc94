"""The ``Database`` port on Cloudflare D1, over its REST query endpoint.

https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/query/
"""

import asyncio
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import orjson

from app.adapters.cloudflare.bookmark import FIRST_PRIMARY, HEADER, Bookmark
from app.adapters.cloudflare.client import CloudflareAnswer, CloudflareClient
from app.adapters.cloudflare.fused_hits import FusedHits
from app.adapters.cloudflare.responses import Refusal
from app.adapters.cloudflare.transport import SESSIONS
from app.adapters.cloudflare.vectorize_answers import NO_SUCH_INDEX
from app.adapters.upstream import Call
from app.domain.errors import (
    CircuitOpen,
    DatabaseRejected,
    DatabaseUnavailable,
    MemoryGatewayError,
    QuotaExhausted,
    StorageFull,
    Unavailable,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.ports.database import Row, RunRefused, Statement, WordsDamaged
from app.storage import damaged_words

# https://developers.cloudflare.com/d1/platform/limits/
_MAX_STATEMENTS = 100
_SQL_BYTES = 100_000
_VALUE_BYTES = 2_000_000

_RUN_SECONDS = 12.0
"""The deadline of a run, including its retries."""
_FUSED_SECONDS = 3.0
"""The deadline of a run that asks an index too. It is longer than an index's part of a recall, which can do without."""
_ATTEMPTS = 3
_PAUSE_SECONDS = 0.05

_OPERATION = "d1.query"
_FUSED = "d1.recall_fused"
_SQL_ERROR = 7500
_OF_D1 = {7400, 7404, _SQL_ERROR}
_INVALID_REQUEST = 400
_NOT_FOUND = 404

# D1's messages and what to do about them: https://developers.cloudflare.com/d1/observability/debug-d1/
_TRANSIENT = (
    "reset because its code was updated",
    "starting up D1 DB storage caused object to be reset",
    "Network connection lost",
    "Internal error in D1 DB storage caused object to be reset",
    "due to transient issue on remote node",
    "request stream because client disconnected",
    "internal error; reference",
    # SQLite's codes of failures that no statement causes (https://www.sqlite.org/rescode.html); D1 was not seen to send
    # them.
    "SQLITE_BUSY",
    "SQLITE_INTERRUPT",
    "SQLITE_IOERR",
    "SQLITE_NOMEM",
)
_OVERLOADED = (
    "exceeded timeout which caused object to be reset",
    "D1 DB is overloaded",
    "exceeded its memory limit",
    "exceeded its CPU time limit",
)
_QUOTA = ("exceeded D1's free tier", "exceeded its daily")
# A trigger's RAISE(ABORT, reason); a broken constraint says more than one word.
_REFUSED = re.compile(r"\A([a-z_]+): SQLITE_CONSTRAINT\b.*")
_WORDS_DAMAGED = ("SQLITE_CORRUPT_VTAB", "invalid fts5 file format")
"""Messages about a damaged virtual table: the index of words is the only one."""
_FULL = ("SQLITE_FULL", "maximum DB size")


class D1Database:
    """Runs statements in one REST call, as one batch. Implements ``app.ports.database.Database``.

    REST always reaches the primary, so a read sees every acknowledged write. An edge does so too, unless ``reads``
    is ``replicas``: then a read sees at least every write that was acknowledged to this process. A run of reads and
    of statements that are ``repeatable`` is retried at most twice when D1 reports a transient failure; an
    overloaded D1 is not retried.
    """

    history_days = 30  # Time Travel, on the paid plan: https://developers.cloudflare.com/d1/reference/time-travel/

    def __init__(
        self,
        client: CloudflareClient,
        database_id: str,
        *,
        reads: Literal["primary", "replicas"] = "primary",
        for_share: bool = False,
    ) -> None:
        """Use a client that the caller closes; ``for_share`` marks calls that ask for a share of the limit."""
        self._client = client
        self._for_share = for_share
        self._id = database_id
        self._path = f"/d1/database/{database_id}/query"
        self._breaker = client.breakers.of(f"d1/{database_id}")
        self._fused_breaker = client.breakers.of(f"d1.recall_fused/{database_id}")
        self._bookmark = Bookmark() if reads == "replicas" else None

    @property
    def backend(self) -> str:
        """The product, and the transport to it."""
        return self._client.transport.of("cloudflare-d1")

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run the statements as one batch, and ask for the hits that they await in the same call.

        It is not documented that a REST batch is one transaction, so the statements of a run are in an order
        in which every prefix is harmless (docs/architecture.md).
        """
        if not statements:
            return []
        try:
            return await self._run(statements)
        except WordsDamaged as damage:
            return await damaged_words.go_on(self._run, statements, damage)

    async def _run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        batch = _batch(statements)
        attempts = _ATTEMPTS if all(s.repeatable or not s.writes for s in statements) else 1
        awaited = {id(hits): hits for statement in statements if isinstance(hits := statement.awaits, FusedHits)}
        if awaited:
            try:
                return await self._run_with_hits(batch, list(awaited.values()), attempts, len(statements))
            except (UpstreamTimeout, UpstreamRejected, CircuitOpen) as error:  # the index was not asked, or is away
                for search in awaited.values():
                    search.error = error
        answer = await self._query(_encoded({"batch": batch}), attempts)
        return _rows(answer.result, len(statements))

    async def ping(self) -> None:
        """Run a minimal statement."""
        await self.run([Statement("SELECT 1 AS one")])

    async def purge_log(self) -> bool:
        """Return True: D1 keeps deleted data only in its history (``history_days``)."""
        return True

    async def stored_bytes(self) -> int:
        """Return the size of the database, which D1 returns with every answer; raises as ``run`` does."""
        body = _encoded({"batch": _batch([Statement("SELECT 1 AS one")])})
        answer = await self._query(body, _ATTEMPTS)
        _rows(answer.result, 1)
        told = answer.result[0].get("meta", {}).get("size_after")
        if not isinstance(told, int | float):
            raise UpstreamRejected("D1 did not tell the size of the database.")
        return int(told)

    async def _run_with_hits(
        self, batch: Sequence[Mapping[str, Any]], awaited: Sequence[FusedHits], attempts: int, count: int
    ) -> list[list[Row]]:
        """Ask for the hits and run the batch with them in one call of an edge."""
        queries = [{"index": search.index_name, "query": search.question, "hits": search.text} for search in awaited]
        body = _encoded({"database": self._id, "queries": queries, "batch": batch})
        call = Call(_FUSED, "POST", "/recall-fused", body, seconds=_FUSED_SECONDS, breaker=self._fused_breaker)
        result = (await self._within_time(call, attempts)).result
        found = result.get("queries") if isinstance(result, dict) else None
        if not isinstance(found, list) or len(found) != len(awaited):
            raise UpstreamRejected("The edge answered a fused recall in another form.")
        rows = _rows(result.get("batch"), count)
        for search, told in zip(awaited, found, strict=True):
            search.hits = search.read(told)
        return rows

    async def _query(self, body: bytes, attempts: int) -> CloudflareAnswer:
        return await self._within_time(Call(_OPERATION, "POST", self._path, body, breaker=self._breaker), attempts)

    async def _within_time(self, call: Call, attempts: int) -> CloudflareAnswer:
        try:
            async with asyncio.timeout(_RUN_SECONDS) as deadline:
                return await self._attempt(call, attempts, deadline)
        except TimeoutError as error:
            raise UpstreamTimeout("D1 did not answer in time.") from error

    async def _attempt(self, call: Call, attempts: int, deadline: asyncio.Timeout) -> CloudflareAnswer:
        for attempt in range(1, attempts):
            try:
                return await self._call(call, deadline)
            except CircuitOpen:
                raise
            except UpstreamUnavailable:
                self._client.retried(call.operation)
                await asyncio.sleep(random.uniform(0, _PAUSE_SECONDS * 2**attempt))  # noqa: S311 - jitter, no secret
        return await self._call(call, deadline)

    async def _call(self, call: Call, deadline: asyncio.Timeout) -> CloudflareAnswer:
        """Make a call, with the bookmark where replicas may answer it."""
        meaning = self._meaning if call.operation == _OPERATION else self._meaning_of_fused
        if self._bookmark is None or SESSIONS not in self._client.transport.features:
            return await self._client.call(call, meaning, for_share=self._for_share, deadline=deadline)
        sent, period = self._bookmark.to_send()
        try:
            call = replace(call, headers={HEADER: sent or FIRST_PRIMARY})
            answer = await self._client.call(call, meaning, for_share=self._for_share, deadline=deadline)
        except MemoryGatewayError:
            if sent is not None:
                self._bookmark.forget(period)
            raise
        self._bookmark.record(answer.bookmark, sent, period)
        return answer

    def _meaning(self, refusal: Refusal) -> MemoryGatewayError | None:
        """Map D1's message to an error, because its codes do not distinguish its failures."""
        detail = f"D1: {refusal.message}"
        error = _unavailable(refusal.message, detail)
        if error is not None:
            return error
        if refusal.status == _NOT_FOUND:
            problem = f"The D1 database {self._id} does not exist."
            return DatabaseUnavailable(problem, cure=self._client.transport.cures.database)
        of_sqlite = refusal.code == _SQL_ERROR or "SQLITE_" in refusal.message
        if refusal.status != _INVALID_REQUEST or not of_sqlite:
            return None
        if any(text in refusal.message for text in _WORDS_DAMAGED):
            return WordsDamaged(detail)
        reason = _REFUSED.fullmatch(refusal.message)
        return DatabaseRejected(detail) if reason is None else RunRefused(reason[1])

    def _meaning_of_fused(self, refusal: Refusal) -> MemoryGatewayError | None:
        """Map the database's errors as in ``_meaning``; every other error is the index's."""
        if refusal.code in _OF_D1:
            return self._meaning(refusal)
        problem = f"The edge could not ask the index ({refusal.status}/{refusal.code}): {refusal.message}."
        cure = self._client.transport.cures.index if refusal.code in NO_SUCH_INDEX else None
        return UpstreamRejected(problem, cure=cure)


def _encoded(body: Mapping[str, Any]) -> bytes:
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def _batch(statements: Sequence[Statement]) -> list[dict[str, Any]]:
    """Return the statements as D1 takes them.

    Raises:
        DatabaseRejected: the statements are over D1's limits; nothing was sent.
    """
    if len(statements) > _MAX_STATEMENTS:
        raise DatabaseRejected(f"{len(statements)} statements in a run; D1 takes {_MAX_STATEMENTS}.")
    batch: list[dict[str, Any]] = []
    for statement in statements:
        if len(statement.sql.encode()) > _SQL_BYTES:
            raise DatabaseRejected(f"A statement is longer than the {_SQL_BYTES} bytes that D1 takes.")
        if not statement.writes and statement.sql.lstrip()[:6].upper() != "SELECT":
            raise DatabaseRejected("A statement that may write does not say so.")
        parameters = statement.parameters
        if any(len(parameter.encode()) > _VALUE_BYTES for parameter in parameters):
            raise DatabaseRejected(f"A value is larger than the {_VALUE_BYTES} bytes that D1 takes.")
        batch.append({"sql": statement.sql, "params": parameters})
    return batch


def _rows(results: Any, count: int) -> list[list[Row]]:  # noqa: ANN401 - as JSON has it
    """Return each statement's rows; every statement must report success."""
    if not isinstance(results, list) or len(results) != count:
        raise UpstreamRejected(f"D1 answered {count} statements with something else than {count} results.")
    if not all(isinstance(result, dict) and result.get("success") is True for result in results):
        raise DatabaseRejected("D1 reports a statement of the run as failed.")
    rows = [result.get("results") or [] for result in results]
    if not all(isinstance(of_one, list) and all(isinstance(row, dict) for row in of_one) for of_one in rows):
        raise UpstreamRejected("D1 answered a statement with something else than rows.")
    return rows


def _unavailable(message: str, detail: str) -> Unavailable | None:
    if any(text in message for text in _OVERLOADED):
        return UpstreamOverloaded(detail)
    if any(text in message for text in _TRANSIENT):
        return UpstreamUnavailable(detail)  # the run may have been written
    if any(text in message for text in _QUOTA):
        return QuotaExhausted(detail)
    if any(text in message for text in _FULL):
        return StorageFull(detail)
    return None
