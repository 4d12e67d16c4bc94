"""The ``Database`` port on Cloudflare D1, over its REST query endpoint.

https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/query/
"""

import asyncio
import random
import re
from collections.abc import Sequence
from typing import Any

import orjson

from app.adapters.cloudflare.client import CloudflareAnswer, CloudflareClient, Refusal
from app.adapters.upstream import Call
from app.domain.errors import (
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
from app.ports.database import Row, RunRefused, Statement

# https://developers.cloudflare.com/d1/platform/limits/
_MAX_STATEMENTS = 100
_SQL_BYTES = 100_000
_VALUE_BYTES = 2_000_000

_RUN_SECONDS = 12.0
"""The deadline of a run, including its retries."""
_ATTEMPTS = 3
_PAUSE_SECONDS = 0.05

_OPERATION = "d1.query"
_SQL_ERROR = 7500
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
)
_OVERLOADED = (
    "exceeded timeout which caused object to be reset",
    "D1 DB is overloaded",
    "exceeded its memory limit",
    "exceeded its CPU time limit",
)
_QUOTA = ("exceeded D1's free tier", "exceeded its daily")
# A trigger's RAISE(ABORT, reason); a broken constraint says more than one word.
_REFUSED = re.compile(r"([a-z_]+): SQLITE_CONSTRAINT\b.*")
_FULL = ("SQLITE_FULL", "maximum DB size")


class D1Database:
    """Runs statements in one REST call, as one batch. Implements ``app.ports.database.Database``.

    REST always reaches the primary, so a read sees every acknowledged write. A run of reads and of
    statements that are ``repeatable`` is retried at most twice when D1 reports a transient failure; an
    overloaded D1 is not retried.
    """

    backend = "cloudflare-d1"
    history_days = 30  # Time Travel, on the paid plan: https://developers.cloudflare.com/d1/reference/time-travel/

    def __init__(self, client: CloudflareClient, database_id: str) -> None:
        """Use a client that the caller closes."""
        self._client = client
        self._path = f"/d1/database/{database_id}/query"

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run the statements as one batch.

        It is not documented that a REST batch is one transaction, so the statements of a run are in an order
        in which every prefix is harmless (docs/architecture.md).
        """
        if not statements:
            return []
        body = _body(statements)
        attempts = _ATTEMPTS if all(s.repeatable or not s.writes for s in statements) else 1
        try:
            async with asyncio.timeout(_RUN_SECONDS):
                answer = await self._attempt(body, attempts)
        except TimeoutError as error:
            raise UpstreamTimeout("D1 did not answer in time.") from error
        return _rows(answer, len(statements))

    async def ping(self) -> None:
        """Run a minimal statement."""
        await self.run([Statement("SELECT 1 AS one")])

    async def _attempt(self, body: bytes, attempts: int) -> CloudflareAnswer:
        call = Call(_OPERATION, "POST", self._path, body)
        for attempt in range(1, attempts):
            try:
                return await self._client.call(call, _meaning)
            except UpstreamUnavailable:
                self._client.retried(_OPERATION)
                await asyncio.sleep(random.uniform(0, _PAUSE_SECONDS * 2**attempt))  # noqa: S311 - jitter, no secret
        return await self._client.call(call, _meaning)


def _body(statements: Sequence[Statement]) -> bytes:
    """Encode the body of the request.

    Raises:
        DatabaseRejected: the statements are over D1's limits; nothing was sent.
    """
    if len(statements) > _MAX_STATEMENTS:
        raise DatabaseRejected(f"{len(statements)} statements in a run; D1 takes {_MAX_STATEMENTS}.")
    batch: list[dict[str, Any]] = []
    for statement in statements:
        if len(statement.sql.encode()) > _SQL_BYTES:
            raise DatabaseRejected(f"A statement is longer than the {_SQL_BYTES} bytes that D1 takes.")
        if not statement.writes and not statement.sql.lstrip().upper().startswith("SELECT"):
            raise DatabaseRejected("A statement that may write does not say so.")
        parameters = statement.parameters
        if any(len(parameter.encode()) > _VALUE_BYTES for parameter in parameters):
            raise DatabaseRejected(f"A value is larger than the {_VALUE_BYTES} bytes that D1 takes.")
        batch.append({"sql": statement.sql, "params": parameters})
    return orjson.dumps({"batch": batch})


def _rows(answer: CloudflareAnswer, count: int) -> list[list[Row]]:
    """Return each statement's rows; every statement must report success."""
    results = answer.result
    if not isinstance(results, list) or len(results) != count:
        raise UpstreamRejected(f"D1 answered {count} statements with something else than {count} results.")
    if not all(isinstance(result, dict) and result.get("success") is True for result in results):
        raise DatabaseRejected("D1 reports a statement of the run as failed.")
    rows = [result.get("results") or [] for result in results]
    if not all(isinstance(of_one, list) and all(isinstance(row, dict) for row in of_one) for of_one in rows):
        raise UpstreamRejected("D1 answered a statement with something else than rows.")
    return rows


def _meaning(refusal: Refusal) -> MemoryGatewayError | None:
    """Map D1's message to an error, because its codes do not distinguish its failures."""
    detail = f"D1: {refusal.message}"
    error = _unavailable(refusal.message, detail)
    refused = refusal.status == _INVALID_REQUEST and (refusal.code == _SQL_ERROR or "SQLITE_" in refusal.message)
    if error is None and refused and (reason := _REFUSED.fullmatch(refusal.message)):
        return RunRefused(reason[1])
    if error is None and refused:
        return DatabaseRejected(detail)
    if error is None and refusal.status == _NOT_FOUND:
        return DatabaseUnavailable("The D1 database does not exist. Check CLOUDFLARE_D1_DATABASE_ID.")
    return error


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
