"""Cloudflare's own client for Python works on the double: the double speaks as Cloudflare does."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from cloudflare import BadRequestError, Cloudflare, NotFoundError

from memory_gateway_double.server import Handle

# How the client is made to send an upsert: of itself it calls the lines JSON, and it warns of the bytes its own
# signature asks for.
NDJSON = {"Content-Type": "application/x-ndjson"}
BYTES = pytest.mark.filterwarnings("ignore:Passing raw bytes as `body`:DeprecationWarning")


@pytest.fixture
def client(double: Handle) -> Iterator[Cloudflare]:
    token = double.double.options.api_token
    with Cloudflare(api_token=token, base_url=double.cloudflare_url, max_retries=0) as client:
        yield client


@pytest.fixture
def account_id(double: Handle) -> str:
    return double.double.options.account_id


def test_d1_creates_finds_and_queries(client: Cloudflare, account_id: str) -> None:
    name = f"python-{uuid4()}"
    created = client.d1.database.create(account_id=account_id, name=name)
    assert created.uuid
    assert [found.uuid for found in client.d1.database.list(account_id=account_id, name=name)] == [created.uuid]
    script = "CREATE TABLE pet (name TEXT, age INTEGER) STRICT; INSERT INTO pet VALUES ('Kit', 3)"
    client.d1.database.query(created.uuid, account_id=account_id, sql=script)
    sql = "SELECT name, age FROM pet WHERE age > CAST(? AS INTEGER)"
    (result,) = client.d1.database.query(created.uuid, account_id=account_id, sql=sql, params=["2"])
    assert (result.success, result.results) == (True, [{"name": "Kit", "age": 3}])
    assert result.meta is not None
    assert result.meta.changed_db is False


def test_d1_runs_a_batch_in_order(client: Cloudflare, account_id: str, double: Handle) -> None:
    database_id = double.double.create_database(f"python-{uuid4()}")
    batch = [{"sql": "SELECT ?1 AS value", "params": [value]} for value in ("first", "second")]
    results = client.d1.database.query(database_id, account_id=account_id, batch=batch)  # type: ignore[arg-type]
    assert [result.results for result in results] == [[{"value": "first"}], [{"value": "second"}]]


def test_d1_errors_arrive_as_the_clients_own(client: Cloudflare, account_id: str, double: Handle) -> None:
    database_id = double.double.create_database(f"python-{uuid4()}")
    with pytest.raises(BadRequestError, match="syntax error") as refused:
        client.d1.database.query(database_id, account_id=account_id, sql="SELEC 1")
    assert [error.code for error in refused.value.errors] == [7500]
    with pytest.raises(NotFoundError) as absent:
        client.d1.database.query(str(uuid4()), account_id=account_id, sql="SELECT 1")
    assert [error.code for error in absent.value.errors] == [7404]


@BYTES
def test_vectorize_finds_through_a_filter_what_was_written(client: Cloudflare, account_id: str) -> None:
    indexes, name = client.vectorize.indexes, f"python-{uuid4()}"
    indexes.create(account_id=account_id, name=name, config={"dimensions": 32, "metric": "cosine"})
    indexes.metadata_index.create(name, account_id=account_id, property_name="tenant", index_type="string")
    vectors = [
        {"id": "a", "values": padded(1, 0), "metadata": {"tenant": "acme"}},
        {"id": "b", "values": padded(0.6, 0.8), "metadata": {"tenant": "acme"}},
        {"id": "c", "values": padded(1, 0), "metadata": {"tenant": "other"}},
    ]
    written = indexes.upsert(name, account_id=account_id, body=ndjson(vectors), extra_headers=NDJSON)
    assert written is not None
    assert written.mutation_id
    vector, where = padded(1, 0), {"tenant": "acme"}
    found = indexes.query(name, account_id=account_id, vector=vector, top_k=5, filter=where, return_metadata="all")
    assert found is not None
    matches = found.matches or []
    assert [(match.id, match.metadata) for match in matches] == [("a", where), ("b", where)]
    assert [match.score for match in matches] == pytest.approx([1, 0.6], abs=0.01)


@BYTES
def test_vectorize_describes_returns_and_removes(client: Cloudflare, account_id: str, double: Handle) -> None:
    indexes, name = client.vectorize.indexes, f"python-{uuid4()}"
    double.double.create_index(name, 32, metadata_indexes={"tenant": "string"})
    vector = {"id": "a", "values": padded(0, 1)}
    indexes.upsert(name, account_id=account_id, body=ndjson([vector]), extra_headers=NDJSON)
    info = indexes.info(name, account_id=account_id)
    assert info is not None
    assert (info.dimensions, info.vector_count) == (32, 1)
    declared = indexes.metadata_index.list(name, account_id=account_id)
    assert declared is not None
    assert [(each.property_name, each.index_type) for each in declared.metadata_indexes or []] == [("tenant", "string")]
    assert indexes.get_by_ids(name, account_id=account_id, ids=["a", "b"]) == [vector]
    indexes.delete_by_ids(name, account_id=account_id, ids=["a"])
    assert not indexes.get_by_ids(name, account_id=account_id, ids=["a"])


def padded(*values: float) -> list[float]:
    return [*values, *[0.0] * (32 - len(values))]


def ndjson(vectors: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(vector)}\n" for vector in vectors).encode()
