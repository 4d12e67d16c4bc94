"""What the adapters do where the Worker of ``deploy/edge`` answers: they notice it, and ask it for more."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import respx
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.breaker import TIME_OUTS
from app.adapters.cloudflare.bookmark import Bookmark
from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.domain.errors import (
    ConfigurationError,
    DatabaseRejected,
    RateLimited,
    Unavailable,
    UpstreamRejected,
    UpstreamUnavailable,
)
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.domain.query import Filter
from app.observability.metrics import Metrics
from app.ports.database import RunRefused, Statement
from app.ports.vector_index import AwaitedHits, Hit
from tests.adapters.cloudflare.vectors import CONFIG, FILTERABLE
from tests.adapters.cloudflare.wire import ACCOUNT_ID, TOKEN, answer, body_of, html, refusal
from tests.contracts.vectors import unit

EDGE = "https://edge.example/client/v4"
DATABASE = "d1-id"
CAPABILITIES = {
    "version": 1,
    "databases": [DATABASE],
    "indexes": [CONFIG.index_name],
    "models": [],
    "features": ["recall-fused", "sessions", "something-new"],
}
SCOPE = Scope("acme", "bot")
ROWS = [{"results": [{"one": 1}], "success": True, "meta": {}}]


@pytest.fixture
def edge() -> Iterator[respx.MockRouter]:
    with respx.mock(base_url=f"{EDGE}/accounts/{ACCOUNT_ID}", assert_all_called=False) as router:
        router.get("/capabilities").mock(return_value=answer(CAPABILITIES))
        yield router


@pytest.fixture
async def client(edge: respx.MockRouter) -> AsyncIterator[CloudflareClient]:
    del edge
    client = CloudflareClient(
        account_id=ACCOUNT_ID, api_token=TOKEN, call_budget=CallBudget(3), metrics=Metrics(), base_url=f"{EDGE}/"
    )
    yield client
    await client.close()


@pytest.fixture
async def database(client: CloudflareClient) -> D1Database:
    await client.discover()
    return D1Database(client, DATABASE)


def awaiting(
    client: CloudflareClient, where: Filter | None = None, *, name: str | None = None
) -> tuple[AwaitedHits, Statement]:
    index = VectorizeIndex(client, CONFIG, filterable=FILTERABLE, name=name)
    awaited = index.ask_within(SCOPE, unit(1), top_k=5, where=where or Filter())
    assert awaited is not None
    stands_in: list[Json] = [[hit.id, hit.score] for hit in awaited.until_then.hits]
    return awaited, Statement("SELECT 1 AS one", {"semantic": stands_in, "query": "x"}, awaits=awaited)


async def test_an_edge_is_noticed_once_and_its_calls_are_not_counted(
    edge: respx.MockRouter, client: CloudflareClient
) -> None:
    assert client.transport.name == "REST"
    for _ in range(2):
        assert (await client.discover()).name == "edge"
    assert edge.calls.call_count == 1
    edge.post(f"/d1/database/{DATABASE}/query").mock(return_value=answer(ROWS))
    database = D1Database(client, DATABASE)
    for _ in range(10):
        await database.ping()
    assert database.backend == "cloudflare-d1 (edge)"


async def test_cloudflare_itself_is_not_asked(metrics: Metrics, api: respx.MockRouter) -> None:
    client = CloudflareClient(account_id=ACCOUNT_ID, api_token=TOKEN, call_budget=CallBudget(0), metrics=metrics)
    assert (await client.discover()).name == "REST"
    assert api.calls.call_count == 0
    await client.close()


@pytest.mark.parametrize("said", [refusal(404, 7003), refusal(405, 7001)])
async def test_what_knows_no_such_path_is_the_rest_api_and_is_asked_once(
    edge: respx.MockRouter, client: CloudflareClient, said: httpx.Response
) -> None:
    edge.get("/capabilities").mock(return_value=said)
    for _ in range(2):
        assert (await client.discover()).name == "REST"
    assert edge.calls.call_count == 1
    index = VectorizeIndex(client, CONFIG, filterable=FILTERABLE)
    assert index.ask_within(SCOPE, unit(1), top_k=5, where=Filter()) is None
    edge.post(f"/d1/database/{DATABASE}/query").mock(return_value=answer(ROWS))
    for _ in range(2):
        await D1Database(client, DATABASE).ping()
    with pytest.raises(RateLimited):
        await D1Database(client, DATABASE).ping()


async def test_a_worker_that_is_deployed_after_the_service_has_started_is_noticed(
    edge: respx.MockRouter, client: CloudflareClient
) -> None:
    edge.get("/capabilities").mock(side_effect=[html(404), answer(CAPABILITIES)])
    assert (await client.discover()).name == "REST"
    assert (await client.discover()).name == "edge"


async def test_an_outage_is_not_taken_for_the_rest_api(edge: respx.MockRouter, client: CloudflareClient) -> None:
    edge.get("/capabilities").mock(side_effect=[refusal(500), httpx.ConnectError("away"), answer(CAPABILITIES)])
    for _ in range(2):
        with pytest.raises(UpstreamUnavailable):
            await client.discover()
    assert (await client.discover()).name == "edge"


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {},
        {**CAPABILITIES, "version": 2},
        {**CAPABILITIES, "features": None},
        {**CAPABILITIES, "indexes": [1]},
    ],
)
async def test_an_edge_of_another_version_is_refused(
    edge: respx.MockRouter, client: CloudflareClient, told: Any
) -> None:
    edge.get("/capabilities").mock(return_value=answer(told))
    with pytest.raises(UpstreamRejected, match="another version"):
        await client.discover()


async def test_an_edge_without_the_database_or_the_index_is_a_wrong_configuration(client: CloudflareClient) -> None:
    await client.check_bindings(DATABASE, CONFIG.index_name)
    with pytest.raises(ConfigurationError, match=r"database other.*DATABASES"):
        await client.check_bindings("other", CONFIG.index_name)
    with pytest.raises(ConfigurationError, match=r"index other.*INDEXES"):
        await client.check_bindings(DATABASE, "other")


async def test_an_edge_is_asked_again_only_for_what_it_lacked(edge: respx.MockRouter, client: CloudflareClient) -> None:
    for _ in range(2):
        await client.check_bindings(DATABASE, CONFIG.index_name)
    assert edge.calls.call_count == 1
    deployed = answer({**CAPABILITIES, "databases": [DATABASE, "other"]})
    edge.get("/capabilities").mock(side_effect=[answer(CAPABILITIES), httpx.ConnectError("away"), deployed])
    with pytest.raises(ConfigurationError):
        await client.check_bindings("other", CONFIG.index_name)
    with pytest.raises(UpstreamUnavailable):
        await client.check_bindings("other", CONFIG.index_name)
    await client.check_bindings("other", CONFIG.index_name)


@pytest.mark.parametrize("code", [3000, 3005])
async def test_an_index_that_the_edge_does_not_know_is_looked_for_in_its_configuration(
    edge: respx.MockRouter, client: CloudflareClient, database: D1Database, code: int
) -> None:
    edge.post("/recall-fused").mock(return_value=refusal(404, code, "The index x was not found."))
    edge.post(f"/d1/database/{DATABASE}/query").mock(return_value=answer(ROWS))
    awaited, statement = awaiting(client)
    await database.run([statement])
    assert "INDEXES" in str(awaited.error)


async def test_awaited_hits_are_asked_for_in_the_call_of_the_run(
    edge: respx.MockRouter, client: CloudflareClient, database: D1Database
) -> None:
    found = {"count": 2, "matches": [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.1}]}
    fused = edge.post("/recall-fused").mock(return_value=answer({"queries": [found], "batch": [*ROWS, *ROWS]}))
    awaited, statement = awaiting(client)
    assert await database.run([Statement("SELECT 1 AS one"), statement]) == [[{"one": 1}], [{"one": 1}]]
    assert awaited.hits is not None
    assert (awaited.hits.hits, awaited.hits.filtered) == ([Hit("a", 0.9), Hit("b", 0.1)], True)
    body = body_of(fused.calls.last)
    (query,) = body["queries"]
    assert (body["database"], query["index"]) == (DATABASE, CONFIG.index_name)
    assert (query["query"]["topK"], query["query"]["filter"]) == (100, {"tenant_id": "acme", "agent_id": "bot"})
    assert query["query"]["vector"] == unit(1).tolist()
    (parameter,) = body["batch"][1]["params"]
    assert parameter.count(query["hits"]) == 1
    completed = json.loads(parameter.replace(query["hits"], '[["a",1.0],["b",0.0]]'))
    assert completed == {"semantic": [["a", 1.0], ["b", 0.0]], "query": "x"}


async def test_the_hits_of_a_shard_are_asked_of_its_own_index(
    edge: respx.MockRouter, client: CloudflareClient, database: D1Database
) -> None:
    fused = edge.post("/recall-fused").mock(return_value=answer({"queries": [{"matches": []}], "batch": ROWS}))
    _, statement = awaiting(client, name=CONFIG.index_name_in("east"))
    await database.run([statement])
    (query,) = body_of(fused.calls.last)["queries"]
    assert query["index"] == CONFIG.index_name_in("east") != CONFIG.index_name


async def test_hits_of_a_filter_that_the_index_cannot_apply_say_so(
    edge: respx.MockRouter, client: CloudflareClient, database: D1Database
) -> None:
    matches = [{"id": str(n), "score": 0.5} for n in range(100)]
    edge.post("/recall-fused").mock(return_value=answer({"queries": [{"matches": matches}], "batch": ROWS}))
    awaited, statement = awaiting(client, Filter(metadata={"undeclared": 1}))
    await database.run([statement])
    assert awaited.hits is not None
    assert not awaited.hits.filtered


@pytest.mark.parametrize(
    "said",
    [
        refusal(404, 3000, "The index was not found."),
        refusal(400, 40006, "VECTOR_QUERY_ERROR (code = 40006): too long"),
        refusal(503, 0, "VECTOR_QUERY_ERROR: Status + 502"),
        refusal(404, 7003, "Could not route to the path of this request."),
        answer({"queries": [{"matches": None}], "batch": ROWS}),
        answer({"queries": [], "batch": ROWS}),
        answer([]),
    ],
)
async def test_where_the_index_is_away_the_run_is_made_without_its_hits(
    edge: respx.MockRouter, client: CloudflareClient, database: D1Database, said: httpx.Response
) -> None:
    edge.post("/recall-fused").mock(return_value=said)
    plain = edge.post(f"/d1/database/{DATABASE}/query").mock(return_value=answer(ROWS))
    awaited, statement = awaiting(client)
    assert await database.run([statement]) == [[{"one": 1}]]
    assert awaited.hits is None
    assert isinstance(awaited.error, Unavailable)
    assert body_of(plain.calls.last)["batch"][0]["params"] == list(statement.parameters)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (refusal(400, 7500, "no such table: t: SQLITE_ERROR"), DatabaseRejected),
        (refusal(400, 7500, "erasing: SQLITE_CONSTRAINT_TRIGGER"), DatabaseRejected),
        (refusal(400, 7500, "erasing: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_TRIGGER)"), RunRefused),
        (refusal(500, 7500, "Network connection lost."), UpstreamUnavailable),
    ],
)
async def test_what_the_database_refuses_of_a_fused_recall_is_refused_as_ever(
    edge: respx.MockRouter, client: CloudflareClient, database: D1Database, said: httpx.Response, error: type[Exception]
) -> None:
    edge.post("/recall-fused").mock(return_value=said)
    awaited, statement = awaiting(client)
    with pytest.raises(error):
        await database.run([statement])
    assert (awaited.hits, awaited.error) == (None, None)


async def test_bookmarks_are_sent_where_replicas_may_answer(edge: respx.MockRouter, client: CloudflareClient) -> None:
    marks = iter(["0002", "0001", "0003"])

    def tell(_: httpx.Request) -> httpx.Response:
        said = answer(ROWS)
        said.headers["x-d1-bookmark"] = next(marks)
        return said

    route = edge.post(f"/d1/database/{DATABASE}/query").mock(side_effect=tell)
    database = D1Database(client, DATABASE, reads="replicas")
    await client.discover()
    for _ in range(3):
        await database.ping()
    assert [call.request.headers.get("x-d1-bookmark") for call in route.calls] == [
        "first-primary",
        "0002",
        "0002",
    ]


async def test_none_is_sent_to_the_primary(edge: respx.MockRouter, client: CloudflareClient) -> None:
    said = answer(ROWS)
    said.headers["x-d1-bookmark"] = "0001"
    route = edge.post(f"/d1/database/{DATABASE}/query").mock(return_value=said)
    await client.discover()
    database = D1Database(client, DATABASE)
    for _ in range(2):
        await database.ping()
    assert all("x-d1-bookmark" not in call.request.headers for call in route.calls)


@given(st.lists(st.tuples(st.sampled_from(["write", "read", "end", "fail"]), st.integers(0, 7)), max_size=60))
def test_no_read_is_sent_less_than_what_was_acknowledged_before_it(steps: list[tuple[str, int]]) -> None:
    """The model: a counter of writes; runs overlap in any order, and each answer tells how much its run has seen."""
    bookmark, written, acknowledged = Bookmark(), 0, 0
    running: list[tuple[str | None, int, int]] = []
    for what, which in steps:
        if what in {"write", "read"}:
            sent, period = bookmark.to_send()
            assert sent is None or int(sent) >= acknowledged
            written += what == "write"
            seen = written if what == "write" or sent is None else int(sent)
            running.append((sent, period, seen))
        elif running:
            sent, period, seen = running.pop(which % len(running))
            if what == "fail":
                bookmark.forget(period)
            else:
                acknowledged = max(acknowledged, seen)
                bookmark.record(f"{seen:08d}", sent, period)


async def test_a_fused_recall_that_hangs_is_not_asked_again_and_the_run_is_made_without_its_hits(
    edge: respx.MockRouter, client: CloudflareClient, database: D1Database
) -> None:
    fused = edge.post("/recall-fused").mock(side_effect=httpx.ReadTimeout("slow"))
    plain = edge.post(f"/d1/database/{DATABASE}/query").mock(return_value=answer(ROWS))
    for _ in range(TIME_OUTS + 2):
        awaited, statement = awaiting(client)
        assert await database.run([statement]) == [[{"one": 1}]]
        assert isinstance(awaited.error, Unavailable)
    assert (fused.call_count, plain.call_count) == (TIME_OUTS, TIME_OUTS + 2)
