"""D1's failures: which are asked again and how often, and what each becomes."""

import asyncio
import time
from typing import Any

import httpx
import pytest
import respx

from app.adapters.breaker import TIME_OUTS
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.command_budget import CommandBudget
from app.adapters.cloudflare.d1 import D1Database
from app.domain.errors import (
    CircuitOpen,
    CloudflareBlocks,
    CredentialsRefused,
    DatabaseRejected,
    DatabaseUnavailable,
    MemoryGatewayError,
    QuotaExhausted,
    RateLimited,
    StorageFull,
    Unavailable,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics
from app.ports.database import Statement
from tests.adapters.cloudflare.test_d1 import PATH, READ, done
from tests.adapters.cloudflare.wire import ACCOUNT_ID, TOKEN, answer, html, refusal
from tests.observability.samples import calls, samples

REPEATABLE = Statement("DELETE FROM t WHERE id = 1", writes=True, repeatable=True)
WRITE = Statement("UPDATE t SET n = n + 1", writes=True)

TRANSIENT = [
    "D1 DB reset because its code was updated.",
    "Internal error while starting up D1 DB storage caused object to be reset.",
    "Network connection lost.",
    "Internal error in D1 DB storage caused object to be reset.",
    "Cannot resolve D1 DB due to transient issue on remote node.",
    "Can't read from request stream because client disconnected.",
    "internal error; reference=0123456789abcdef",
    "database is locked: SQLITE_BUSY",
    "out of memory: SQLITE_NOMEM",
    "disk I/O error: SQLITE_IOERR",
    "interrupted: SQLITE_INTERRUPT",
]
OVERLOADED = [
    "D1 DB storage operation exceeded timeout which caused object to be reset.",
    "D1 DB is overloaded. Requests queued for too long.",
    "D1 DB is overloaded. Too many requests queued.",
    "D1 DB's isolate exceeded its memory limit and was reset.",
    "D1 DB exceeded its CPU time limit and was reset.",
]
QUOTA = [
    "Your account has exceeded D1's free tier daily row read limit of 5 million rows.",
    "Your account has exceeded D1's free tier daily row write limit of 100,000 rows.",
]
LOST: list[Any] = [refusal(500, 7500, TRANSIENT[2]), html(502), httpx.ConnectError("x"), httpx.ReadError("reset")]
LOST_IDS = ["transient", "502", "connect", "reset"]


@pytest.fixture
def database(client: CloudflareClient, monkeypatch: pytest.MonkeyPatch) -> D1Database:
    monkeypatch.setattr("app.adapters.cloudflare.d1._PAUSE_SECONDS", 0.0)
    return D1Database(client, "db-1")


async def failed(database: D1Database, *statements: Statement) -> MemoryGatewayError:
    with pytest.raises(MemoryGatewayError) as caught:
        await database.run(statements or [READ])
    return caught.value


def retries(metrics: Metrics) -> float:
    return samples(metrics, "memory_gateway_upstream_retries_total").get(("d1.query",), 0)


@pytest.mark.parametrize("message", TRANSIENT)
@pytest.mark.parametrize("status", [500, 200])
async def test_a_transient_failure_is_over_by_the_third_call_at_most(
    api: respx.MockRouter, database: D1Database, metrics: Metrics, message: str, status: int
) -> None:
    stumble = refusal(status, 7500, message)
    route = api.post(PATH).mock(side_effect=[stumble, stumble, done([{"one": 1}])])
    assert await database.run([READ]) == [[{"one": 1}]]
    assert (route.call_count, retries(metrics)) == (3, 2)
    assert len({call.request.content for call in route.calls}) == 1


@pytest.mark.parametrize("message", TRANSIENT)
async def test_a_failure_that_does_not_pass_is_told_after_the_third_call(
    api: respx.MockRouter, database: D1Database, metrics: Metrics, message: str
) -> None:
    route = api.post(PATH).mock(return_value=refusal(500, 7500, message))
    error = await failed(database)
    assert isinstance(error, Unavailable)
    assert message in error.detail
    assert (route.call_count, retries(metrics)) == (3, 2)
    assert sum(calls(metrics).values()) == 3


@pytest.mark.parametrize("lost", LOST, ids=LOST_IDS)
@pytest.mark.parametrize(
    ("statements", "sent"),
    [
        ([READ], 3),
        ([REPEATABLE], 3),
        ([READ, REPEATABLE, READ], 3),
        ([WRITE], 1),
        ([READ, REPEATABLE, WRITE], 1),
    ],
    ids=["read", "repeatable", "reads and repeatable", "write", "one that is not repeatable"],
)
async def test_only_a_run_that_may_be_repeated_is_asked_again(
    api: respx.MockRouter, database: D1Database, metrics: Metrics, lost: Any, statements: list[Statement], sent: int
) -> None:
    route = api.post(PATH).mock(side_effect=[lost] * 3)
    assert isinstance(await failed(database, *statements), Unavailable)
    assert (route.call_count, retries(metrics)) == (sent, sent - 1)


@pytest.mark.parametrize("message", TRANSIENT)
async def test_a_write_whose_end_is_not_known_is_not_called_undone(
    api: respx.MockRouter, database: D1Database, message: str
) -> None:
    api.post(PATH).mock(return_value=refusal(500, 7500, message))
    assert isinstance(await failed(database, WRITE), UpstreamTimeout | UpstreamUnavailable | UpstreamRejected)


REFUSALS: list[tuple[httpx.Response, type[MemoryGatewayError], str]] = [
    *((refusal(status, 7500, text), UpstreamOverloaded, text) for text in OVERLOADED for status in (429, 500)),
    *((refusal(status, 7500, text), QuotaExhausted, text) for text in QUOTA for status in (400, 429)),
    (refusal(400, 7500, "UNIQUE constraint failed: t.id: SQLITE_CONSTRAINT"), DatabaseRejected, "UNIQUE constraint"),
    (refusal(400, 7500, 'near "selec": syntax error at offset 0: SQLITE_ERROR'), DatabaseRejected, "syntax error"),
    (refusal(400, 7500, "database or disk is full: SQLITE_FULL"), StorageFull, "full"),
    (refusal(500, 7500, "Exceeded maximum DB size"), StorageFull, "maximum DB size"),
    (refusal(404, 7404, "The database db-1 could not be found"), DatabaseUnavailable, "CLOUDFLARE_D1_DATABASE_ID"),
    (refusal(404, 7003, "Could not route"), UpstreamRejected, "CLOUDFLARE_ACCOUNT_ID"),
    (refusal(400, 6003, "Invalid request headers"), CredentialsRefused, "CLOUDFLARE_API_TOKEN"),
    (refusal(401, 10000, "Authentication error"), CredentialsRefused, "CLOUDFLARE_API_TOKEN"),
    (refusal(403, 7403, "not authorized"), CredentialsRefused, "CLOUDFLARE_API_TOKEN"),
    (refusal(429, 971, "Please wait"), CloudflareBlocks, "blocked"),
    (refusal(408, 1, "slow"), UpstreamTimeout, "408"),
    (html(200), UpstreamRejected, "not JSON"),
]


@pytest.mark.parametrize(("reply", "kind", "said"), REFUSALS, ids=[said[:40] for _, _, said in REFUSALS])
async def test_a_refusal_that_asking_again_does_not_cure_is_not_asked_again(
    api: respx.MockRouter,
    database: D1Database,
    metrics: Metrics,
    reply: httpx.Response,
    kind: type[MemoryGatewayError],
    said: str,
) -> None:
    route = api.post(PATH).mock(return_value=reply)
    error = await failed(database)
    assert type(error) is kind
    assert said in error.detail
    assert (route.call_count, retries(metrics)) == (1, 0)


@pytest.mark.parametrize(
    "reply", [html(400), refusal(400, 6003, "Invalid request headers"), refusal(400, 7400, "Invalid uuid")]
)
async def test_a_400_that_is_not_about_sql_is_no_defect_of_ours(
    api: respx.MockRouter, database: D1Database, reply: httpx.Response
) -> None:
    api.post(PATH).mock(return_value=reply)
    assert isinstance(await failed(database), Unavailable)


@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.parametrize("message", ["internal error", "A new way to fail"])
async def test_a_server_error_that_is_not_known_is_no_defect_of_ours_either(
    api: respx.MockRouter, database: D1Database, status: int, message: str
) -> None:
    route = api.post(PATH).mock(return_value=refusal(status, 7500, message))
    assert type(await failed(database)) is UpstreamUnavailable
    assert route.call_count == 3


@pytest.mark.parametrize("statement", [READ, REPEATABLE, WRITE], ids=["read", "repeatable", "write"])
async def test_a_call_that_times_out_is_not_made_again(
    api: respx.MockRouter, database: D1Database, metrics: Metrics, statement: Statement
) -> None:
    route = api.post(PATH).mock(side_effect=httpx.ReadTimeout("slow"))
    assert type(await failed(database, statement)) is UpstreamTimeout
    assert (route.call_count, retries(metrics)) == (1, 0)


async def test_a_block_met_while_asking_again_is_passed_on(api: respx.MockRouter, database: D1Database) -> None:
    route = api.post(PATH).mock(side_effect=[html(502), refusal(429, retry_after="60")])
    error = await failed(database)
    assert isinstance(error, RateLimited)
    assert (error.retry_after, route.call_count) == (60, 2)


async def test_the_pauses_grow_and_are_random_from_nothing(
    api: respx.MockRouter, client: CloudflareClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        asked.append((low, high))
        return low

    monkeypatch.setattr("app.adapters.cloudflare.d1.random.uniform", uniform)
    api.post(PATH).mock(return_value=html(502))
    await failed(D1Database(client, "db-1"))
    assert asked == [(0, 0.1), (0, 0.2)]


@pytest.mark.parametrize("slow", ["pause", "second call"])
async def test_a_run_ends_at_its_deadline_whatever_it_waits_for(
    api: respx.MockRouter, database: D1Database, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    sent: list[httpx.Request] = []

    async def reply(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        if len(sent) > 1:
            await asyncio.sleep(60)
        return html(502)

    monkeypatch.setattr("app.adapters.cloudflare.d1._RUN_SECONDS", 0.2)
    monkeypatch.setattr("app.adapters.cloudflare.d1.random.uniform", lambda *_: 60.0 if slow == "pause" else 0.0)
    api.post(PATH).mock(side_effect=reply)
    started = time.monotonic()
    assert type(await failed(database, REPEATABLE)) is UpstreamTimeout
    assert time.monotonic() - started < 30
    assert len(sent) == (1 if slow == "pause" else 2)


async def test_the_deadline_of_a_run_is_put_off_while_a_command_waits_for_its_turn_to_call(
    api: respx.MockRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.adapters.cloudflare.d1._RUN_SECONDS", 0.5)
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        await asyncio.sleep(0.2)

    budget = CommandBudget(1, window=10, clock=lambda: now, sleep=sleep)
    client = CloudflareClient(account_id=ACCOUNT_ID, api_token=TOKEN, call_budget=budget, metrics=Metrics())
    route = api.post(PATH).mock(return_value=done([]))
    for _ in range(2):
        await D1Database(client, "db-1").run([READ])
    assert route.call_count == 2
    assert now >= 10
    await client.close()


async def test_a_database_that_hangs_is_not_asked_again_for_a_while_and_says_until_when(
    api: respx.MockRouter, client: CloudflareClient
) -> None:
    hanging, other = (api.post(f"/d1/database/{id_}/query") for id_ in ("one", "two"))
    hanging.mock(side_effect=httpx.ReadTimeout("slow"))
    other.mock(return_value=answer([{"success": True, "results": [{"one": 1}]}]))
    for _ in range(TIME_OUTS):
        with pytest.raises(UpstreamTimeout):
            await D1Database(client, "one").ping()
    with pytest.raises(CircuitOpen) as refused:
        await D1Database(client, "one").ping()
    assert (refused.value.status, refused.value.retry_after) == (503, 5)
    assert hanging.call_count == TIME_OUTS
    await D1Database(client, "two").ping()
