"""Writes to Vectorize: lines of JSON, exact numbers, calls within its limits, and nobody else's vectors deleted."""

import json
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
import respx

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.domain.errors import UpstreamRejected, UpstreamUnavailable
from app.domain.memory import Scope
from tests.adapters.cloudflare.vectors import CONFIG, INDEX, OTHERS, SCOPE, stored, vector
from tests.adapters.cloudflare.wire import DATE_MS, answer, body_of, html
from tests.observability.samples import calls

UPSERT, GET, DELETE = f"{INDEX}/upsert", f"{INDEX}/get_by_ids", f"{INDEX}/delete_by_ids"
MUTATION = {"mutationId": "m-1"}
LATER, LATER_MS = "Fri, 20 Nov 2026 10:00:01 GMT", DATE_MS + 1000


def lines_of(call: Any) -> list[dict[str, Any]]:
    """The vectors that a call sent: each on a line of its own, each line ended."""
    assert call.request.headers["content-type"] == "application/x-ndjson"
    assert call.request.content.endswith(b"\n")
    return [json.loads(line) for line in call.request.content.split(b"\n")[:-1]]


async def test_an_upsert_is_a_line_of_json_a_vector(api: respx.MockRouter, index: VectorizeIndex) -> None:
    route = api.post(UPSERT).mock(return_value=answer(MUTATION))
    at = await index.upsert([vector("a", text="two\nlines\u2028"), vector("b")])
    lines = lines_of(route.calls.last)
    assert [line["id"] for line in lines] == ["a", "b"]
    assert [set(line) for line in lines] == [{"id", "values", "metadata"}] * 2
    assert lines[0]["metadata"]["text"] == "two\nlines\u2028"
    assert at == DATE_MS


async def test_a_vectors_metadata_is_its_scope_what_it_was_made_with_and_the_declared_keys(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    route = api.post(UPSERT).mock(return_value=answer(MUTATION))
    own = {"tenant_id": "tenant-1", "agent_id": "agent-1", "created_at": 1_700_000_000_123, "revision": 7}
    own["embedding"] = "openai/text-embedding-3-small/4"
    declared: dict[str, Any] = {"text": "x" * 63, "number": 2**60, "flag": False}
    await index.upsert(
        [
            vector("a", **declared, undeclared="x"),
            vector("b", text=1, number=True, flag=1),
            vector("c", text=None, number="1", flag=None),
            vector("d", text=["x"], number={"a": 1}),
            vector("f", text="x" * 64),
            vector("g", text="é" * 32),
            vector("e", tenant_id="tenant-2", agent_id="agent-2", created_at=0, revision=0, embedding="other"),
        ]
    )
    first, *others = [line["metadata"] for line in lines_of(route.calls.last)]
    assert first == own | declared
    assert others == [own] * 6


@pytest.mark.parametrize("value", ["x" * 10_200, "\x01" * 63, "é" * 31], ids=["long", "long in JSON", "plain"])
async def test_no_admissible_memory_takes_its_metadata_past_the_10_kib_of_a_vector(
    api: respx.MockRouter, client: CloudflareClient, value: str
) -> None:
    route = api.post(UPSERT).mock(return_value=answer(MUTATION))
    keys = [f"{number}".rjust(64, "k") for number in range(7)]
    index = VectorizeIndex(client, CONFIG, filterable=dict.fromkeys(keys, "string"))
    metadata: dict[str, Any] = dict.fromkeys(keys, value)
    await index.upsert([vector("a", scope=Scope("t" * 64, "a" * 64), **metadata)])
    (line,) = lines_of(route.calls.last)
    assert len(orjson.dumps(line["metadata"])) < 10_240


async def test_one_call_carries_no_more_than_a_slow_line_takes_within_its_deadline(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    route = api.post(UPSERT).mock(return_value=answer(MUTATION))
    values = np.random.default_rng(1).random(1536, np.float32)
    await index.upsert([vector(str(number), values=values) for number in range(600)])
    assert sum(len(lines_of(call)) for call in route.calls) == 600
    assert max(len(call.request.content) for call in route.calls) <= 8_000_000


async def test_every_float_arrives_as_the_float_it_was(api: respx.MockRouter, index: VectorizeIndex) -> None:
    route = api.post(UPSERT).mock(return_value=answer(MUTATION))
    bits = np.random.default_rng(1).integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    edges = np.array([0.0, -0.0, 1.0, 1e-45, 1.1754944e-38, 3.4028235e38, 0.1, 1 / 3], np.float32)
    values = np.concatenate([edges, bits[np.isfinite(bits)]])
    await index.upsert([vector("a", values=values)])
    (line,) = lines_of(route.calls.last)
    arrived = np.array(line["values"], np.float32)
    np.testing.assert_array_equal(arrived.view(np.uint32), values.view(np.uint32))


async def test_a_vector_that_is_a_view_is_written_as_its_values(api: respx.MockRouter, index: VectorizeIndex) -> None:
    route = api.post(UPSERT).mock(return_value=answer(MUTATION))
    await index.upsert([vector("a", values=np.arange(8, dtype=np.float32)[::2])])
    assert lines_of(route.calls.last)[0]["values"] == [0, 2, 4, 6]


@pytest.mark.parametrize(("count", "sizes"), [(1000, [1000]), (1001, [1000, 1]), (2000, [1000, 1000])])
async def test_one_call_takes_1000_vectors_and_the_last_calls_moment_counts(
    api: respx.MockRouter, index: VectorizeIndex, count: int, sizes: list[int]
) -> None:
    replies = [answer(MUTATION) for _ in sizes[1:]] + [answer(MUTATION, date=LATER)]
    route = api.post(UPSERT).mock(side_effect=replies)
    at = await index.upsert([vector(str(number), values=np.zeros(1, np.float32)) for number in range(count)])
    sent = [lines_of(call) for call in route.calls]
    assert [len(lines) for lines in sent] == sizes
    assert [line["id"] for lines in sent for line in lines] == [str(number) for number in range(count)]
    assert at == LATER_MS


async def test_one_call_takes_so_many_bytes_and_a_larger_vector_goes_alone(
    api: respx.MockRouter, index: VectorizeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    route = api.post(UPSERT).mock(return_value=answer(MUTATION))
    await index.upsert([vector("x")])
    most = 3 * len(route.calls.last.request.content) + 10
    monkeypatch.setattr("app.adapters.cloudflare.vectorize._UPSERT_BYTES", most)
    await index.upsert([vector(str(n), values=np.zeros(200 if n == 4 else 4, np.float32)) for n in range(9)])
    calls_ = list(route.calls)[1:]
    sent = [[line["id"] for line in lines_of(call)] for call in calls_]
    assert [id_ for ids in sent for id_ in ids] == [str(n) for n in range(9)]
    assert ["4"] in sent
    assert all(len(call.request.content) <= most for call, ids in zip(calls_, sent, strict=True) if ids != ["4"])
    assert len(sent) <= 5


async def test_no_vectors_are_no_call(api: respx.MockRouter, index: VectorizeIndex) -> None:
    assert (await index.upsert([]), await index.delete(SCOPE, [])) == (0, 0)
    assert len(api.calls) == 0


async def test_an_upsert_that_fails_half_way_is_an_error(api: respx.MockRouter, index: VectorizeIndex) -> None:
    route = api.post(UPSERT).mock(side_effect=[answer(MUTATION), html(502), answer(MUTATION)])
    with pytest.raises(UpstreamUnavailable):
        await index.upsert([vector(str(number), values=np.zeros(1, np.float32)) for number in range(3_000)])
    assert route.call_count == 2


def shown(*vectors: dict[str, Any]) -> Any:
    """An index that holds these: it answers those that are asked for."""

    def reply(request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)["ids"]
        return answer([each for each in vectors if each["id"] in asked])

    return reply


async def test_a_delete_looks_at_20_vectors_a_call_and_removes_100(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    ids = [f"id-{number}" for number in range(230)]
    looks = api.post(GET).mock(side_effect=shown(*(stored(id_) for id_ in ids)))
    deletes = api.post(DELETE).mock(return_value=answer(MUTATION))
    assert await index.delete(SCOPE, ids) == DATE_MS
    asked = [body_of(call)["ids"] for call in looks.calls]
    removed = [body_of(call) for call in deletes.calls]
    assert [len(chunk) for chunk in asked] == [20] * 5 + [20] * 5 + [20, 10]
    assert [len(body["ids"]) for body in removed] == [100, 100, 30]
    assert [id_ for chunk in asked for id_ in chunk] == [id_ for body in removed for id_ in body["ids"]] == ids
    assert all(list(body) == ["ids"] for body in removed)


@pytest.mark.parametrize("owner", OTHERS, ids=str)
async def test_a_vector_that_the_index_shows_to_be_of_another_scope_stays(
    api: respx.MockRouter, index: VectorizeIndex, owner: Scope
) -> None:
    nobodys = {"id": "nobodys", "values": [0.0], "metadata": None}
    api.post(GET).mock(side_effect=shown(stored("own"), stored("others", owner), nobodys))
    deletes = api.post(DELETE).mock(return_value=answer(MUTATION))
    await index.delete(SCOPE, ["others", "own", "nobodys", "absent"])
    assert [body_of(call)["ids"] for call in deletes.calls] == [["own", "absent"]]


async def test_where_all_are_of_another_scope_nothing_is_deleted(api: respx.MockRouter, index: VectorizeIndex) -> None:
    api.post(GET).mock(side_effect=shown(stored("a", OTHERS[0]), stored("b", OTHERS[1])))
    deletes = api.post(DELETE).mock(return_value=answer(MUTATION))
    assert await index.delete(SCOPE, ["a", "b"]) == 0
    assert deletes.call_count == 0


async def test_nothing_is_deleted_that_could_not_be_looked_at(api: respx.MockRouter, index: VectorizeIndex) -> None:
    api.post(GET).mock(side_effect=[answer([]), html(502)])
    deletes = api.post(DELETE).mock(return_value=answer(MUTATION))
    with pytest.raises(UpstreamUnavailable):
        await index.delete(SCOPE, [f"id-{number}" for number in range(25)])
    assert deletes.call_count == 0


@pytest.mark.parametrize("result", [{"a": 1}, ["a"], [1], [{}], [{"id": "a", "metadata": "x"}], [None], "text", 1])
async def test_nothing_is_deleted_after_a_look_that_cannot_be_read(
    api: respx.MockRouter, index: VectorizeIndex, result: Any
) -> None:
    api.post(GET).mock(return_value=answer(result))
    deletes = api.post(DELETE).mock(return_value=answer(MUTATION))
    with pytest.raises(UpstreamRejected):
        await index.delete(SCOPE, ["a"])
    assert deletes.call_count == 0


async def test_an_index_that_shows_none_of_them_answers_null(
    api: respx.MockRouter, index: VectorizeIndex, metrics: Any
) -> None:
    api.post(GET).mock(return_value=answer(None))
    api.post(DELETE).mock(return_value=answer(MUTATION))
    assert await index.delete(SCOPE, ["a"]) == DATE_MS
    assert calls(metrics) == {("vectorize.get_by_ids", "ok"): 1, ("vectorize.delete_by_ids", "ok"): 1}
