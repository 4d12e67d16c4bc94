"""The double's Vectorize: indexes and writes, their limits and refusals; writes show at once."""

from typing import Any

import httpx
import pytest

from tests.double.conftest import DIMENSIONS, Client, VectorIndex, code, unit, vector


def test_an_index_is_created_described_and_deleted(client: Client) -> None:
    path = "/vectorize/v2/indexes"
    body = {"name": "made", "description": "d", "config": {"dimensions": 32, "metric": "cosine"}}
    created = client.post(path, body)
    assert created.status_code == 201
    assert created.json()["result"] == client.get(f"{path}/made").json()["result"]
    assert created.json()["result"]["config"] == {"dimensions": 32, "metric": "cosine"}
    assert "made" in [entry["name"] for entry in client.get(path).json()["result"]]
    assert code(client.post(path, body)) == (400, 3002)
    assert client.call("DELETE", f"{path}/made").status_code == 200
    assert code(client.get(f"{path}/made")) == (410, 3005)
    assert client.post(path, body).status_code == 201


def test_an_index_can_be_made_after_a_preset(client: Client) -> None:
    body = {"name": "preset", "config": {"preset": "@cf/baai/bge-base-en-v1.5"}}
    assert client.post("/vectorize/v2/indexes", body).json()["result"]["config"]["dimensions"] == 768


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("Upper", {"dimensions": 32, "metric": "cosine"}),
        ("ends-", {"dimensions": 32, "metric": "cosine"}),
        ("a" * 65, {"dimensions": 32, "metric": "cosine"}),
        ("small", {"dimensions": 31, "metric": "cosine"}),
        ("large", {"dimensions": 1537, "metric": "cosine"}),
        ("metric", {"dimensions": 32, "metric": "manhattan"}),
        ("none", None),
    ],
)
def test_an_index_that_cannot_be_is_refused(client: Client, name: str, config: Any) -> None:
    assert client.post("/vectorize/v2/indexes", {"name": name, "config": config}).status_code == 400


def test_an_absent_index_is_not_found(client: Client) -> None:
    answer = client.get("/vectorize/v2/indexes/absent/info")
    assert code(answer) == (404, 3000)
    assert "vectorize.index.not_found" in answer.text


def test_upsert_replaces_a_vector_whole(index: VectorIndex) -> None:
    index.write([vector("a", 0, metadata={"tenant_id": "t", "done": True}, namespace="n")])
    index.write([vector("a", 1, metadata={"done": False})])
    answer = index.client.post(f"{index.path}/get_by_ids", {"ids": ["a", "absent"]})
    assert answer.json()["result"] == [{"id": "a", "values": unit(1), "metadata": {"done": False}}]
    assert index.found(filter={"tenant_id": "t"}) == set()
    assert index.info()["vectorCount"] == 1


def test_insert_keeps_the_first_copy(index: VectorIndex) -> None:
    index.write([vector("a", 0)], kind="insert")
    index.write([vector("a", 1), vector("b", 1)], kind="insert")
    answer = index.client.post(f"{index.path}/get_by_ids", {"ids": ["a", "b"]})
    assert [entry["values"] for entry in answer.json()["result"]] == [unit(0), unit(1)]


def test_deleted_vectors_are_gone(index: VectorIndex) -> None:
    index.write([vector("a", metadata={"tenant_id": "t"}), vector("b", metadata={"tenant_id": "t"})])
    answer = index.client.post(f"{index.path}/delete_by_ids", {"ids": ["a", "absent"]})
    assert set(answer.json()["result"]) == {"mutationId"}
    assert index.found() == index.found(filter={"tenant_id": "t"}) == {"b"}


def test_a_form_can_carry_the_vectors(index: VectorIndex) -> None:
    lines = b'{"id": "\xc3\xa4", "values": %s}\n' % str(unit(0)).encode()
    files = {"vectors": ("vectors.ndjson", lines, "application/x-ndjson")}
    assert index.client.call("POST", f"{index.path}/upsert", files=files).status_code == 200
    assert index.found() == {"ä"}


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", ""])
def test_vectors_in_another_content_type_are_refused(index: VectorIndex, content_type: str) -> None:
    headers = {"Content-Type": content_type}
    answer = index.client.call("POST", f"{index.path}/upsert", content=b"{}", headers=headers)
    assert code(answer) == (400, 1005)


@pytest.mark.parametrize(
    ("sent", "expected", "words"),
    [
        ({"id": "x" * 65, "values": unit(0)}, 40008, "id too long; max is 64 bytes, got 65 bytes"),
        ({"id": "ä" * 33, "values": unit(0)}, 40008, "got 66 bytes"),
        ({"id": "a", "values": unit(0), "namespace": "n" * 65}, 40009, "namespace too long"),
        ({"id": "a", "values": [1.0]}, 40012, f"expected {DIMENSIONS} dimensions, and got 1 dimensions"),
        ({"id": "a", "values": [1e300] * DIMENSIONS}, 40012, "finite"),
        ({"id": "a", "values": unit(0), "metadata": {"k": "x" * 10_240}}, 40016, "must not exceed 10240 bytes"),
        ({"id": "a", "values": unit(0), "metadata": {"": 1}}, 40014, "key"),
        ({"id": "a", "values": unit(0), "metadata": {"a.b": 1}}, 40014, "key"),
        ({"id": "a", "values": unit(0), "metadata": {"$a": 1}}, 40014, "key"),
        ({"id": "a", "values": unit(0), "metadata": {'a"': 1}}, 40014, "key"),
        ({"id": "a", "values": unit(0), "metadata": {"deep": {"a.b": 1}}}, 40014, "key"),
        ({"id": "a", "values": unit(0), "metadata": {"a": [1]}}, 40014, "value"),
        ({"id": "a", "values": {"0": 1.0}}, 40023, "line 1: missing field `values`"),
        ({"id": "a", "values": [True] * DIMENSIONS}, 40023, "line 1: missing field `values`"),
        ({"id": "", "values": unit(0)}, 40023, "line 1: missing field `id`"),
        ({"id": "a", "values": unit(0), "metadata": []}, None, ""),
        ({"id": "a", "values": unit(0), "metadata": [1]}, 40023, "metadata"),
        ([], 40023, "line 1"),
    ],
)
def test_a_vector_over_a_limit_is_refused(index: VectorIndex, sent: Any, expected: int | None, words: str) -> None:
    answer = index.write([vector("good"), sent] if expected and expected != 40023 else [sent])
    if expected is None:
        assert answer.status_code == 200
        return
    assert code(answer) == (400, expected)
    assert words in answer.text
    assert index.info()["vectorCount"] == 0


def test_lines_that_cannot_be_parsed_are_refused_or_discarded(index: VectorIndex) -> None:
    def write(query: str) -> httpx.Response:
        content = b'not json\n{"id": "a", "values": %s}\n' % str(unit(0)).encode()
        headers = {"Content-Type": "application/x-ndjson"}
        return index.client.call("POST", f"{index.path}/upsert{query}", content=content, headers=headers)

    assert code(write("")) == (400, 40023)
    assert code(write("?unparsable-behavior=error")) == (400, 40023)
    assert write("?unparsable-behavior=discard").status_code == 200
    assert index.found() == {"a"}


def test_more_than_five_thousand_vectors_are_refused(index: VectorIndex) -> None:
    answer = index.write(vector(str(n)) for n in range(5001))
    assert code(answer) == (400, 40006)
    assert index.write(vector(str(n)) for n in range(5000)).status_code == 200
    assert index.info()["vectorCount"] == 5000


@pytest.mark.parametrize(("method", "most"), [("get_by_ids", 20), ("delete_by_ids", 100)])
def test_too_many_ids_are_refused(index: VectorIndex, method: str, most: int) -> None:
    ids = [str(n) for n in range(most + 1)]
    assert index.client.post(f"{index.path}/{method}", {"ids": ids[:most]}).status_code == 200
    answer = index.client.post(f"{index.path}/{method}", {"ids": ids})
    assert code(answer) == (400, 40007)
    assert f"max id count is {most}, got {most + 1}" in answer.text


def test_vectors_older_than_a_metadata_index_are_invisible_to_its_filters(index: VectorIndex) -> None:
    index.write([vector("old", metadata={"color": "red"})])
    assert index.declare("color").status_code == 200
    index.write([vector("new", metadata={"color": "red"}), vector("plain")])
    assert index.found(filter={"color": "red"}) == {"new"}
    assert index.found(filter={"color": {"$ne": "blue"}}) == {"new", "plain"}
    index.write([vector("old", metadata={"color": "red"})])
    assert index.found(filter={"color": "red"}) == {"old", "new"}


def test_metadata_indexes_are_listed_dropped_and_limited(index: VectorIndex) -> None:
    for n in range(6):
        assert index.declare(f"more{n}", "number").status_code == 200
    assert index.declare("more0", "number").status_code == 200
    assert index.declare("eleventh").status_code == 400
    assert index.declare("more0", "string").status_code == 400
    assert index.declare("more0", "date").status_code == 400
    listed = index.client.get(f"{index.path}/metadata_index/list").json()["result"]["metadataIndexes"]
    assert len(listed) == 10
    assert {"propertyName": "more5", "indexType": "number"} in listed
    path = f"{index.path}/metadata_index/delete"
    assert index.client.post(path, {"propertyName": "more0"}).status_code == 200
    assert code(index.client.post(path, {"propertyName": "more0"})) == (404, 40005)
    assert index.ask(vector=unit(0), filter={"more0": 1}).status_code == 400


def test_ids_are_listed_page_by_page_from_one_snapshot(index: VectorIndex) -> None:
    index.write(vector(f"v{n}") for n in range(5))
    first = index.client.get(f"{index.path}/list?count=3").json()["result"]
    index.write([vector("later")])
    second = index.client.get(f"{index.path}/list", params={"count": 3, "cursor": first["nextCursor"]}).json()["result"]
    assert [entry["id"] for entry in first["vectors"] + second["vectors"]] == [f"v{n}" for n in range(5)]
    assert (first["isTruncated"], first["totalCount"], second["isTruncated"]) == (True, 5, False)
    assert second["nextCursor"] is None
    assert index.client.get(f"{index.path}/list?count=1001").status_code == 400
    assert index.client.get(f"{index.path}/list?cursor=unknown").status_code == 400
