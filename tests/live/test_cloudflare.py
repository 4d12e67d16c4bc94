"""What is assumed of Cloudflare and documented nowhere: each test states one assumption and fails with the truth."""

import asyncio
from typing import Any

import numpy as np
import orjson
import pytest
from ulid import ULID

from app.adapters.cloudflare.responses import Refusal
from app.adapters.upstream import Call
from app.domain.errors import CursorExpired, DatabaseRejected, MemoryGatewayError, UpstreamRejected, VectorRefused
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Statement
from app.ports.index_admin import IdPage, IndexRecord
from app.ports.vector_index import IndexedVector
from app.storage.migrations.runner import migrate
from tests.live.conftest import Live

pytestmark = pytest.mark.live

SCOPE = Scope("memory-gateway.live", "agent")
CREATE = Statement("CREATE TABLE thing (id TEXT PRIMARY KEY)", writes=True)
ADD = Statement("INSERT INTO thing (id) VALUES ('a')", writes=True)
_VISIBLE_SECONDS = 240


class Told(Exception):
    """What Cloudflare said."""


async def query(live: Live, body: dict[str, Any]) -> Any:
    """Ask D1 what the adapter never would."""
    call = Call("d1.query", "POST", f"/d1/database/{live.database_id}/query", orjson.dumps(body))
    return (await live.client.call(call)).result


async def ask(live: Live, **body: Any) -> Any:
    """Ask the index what the adapter never would."""
    path = f"/vectorize/v2/indexes/{live.config.index_name}/query"
    content = orjson.dumps({"vector": [1.0] * 32, **body})
    return (await live.client.call(Call("vectorize.query", "POST", path, content))).result


async def refusal_of(live: Live, sql: str) -> Refusal:
    """Return what D1 says of a statement."""
    said: list[Refusal] = []

    def listen(refusal: Refusal) -> MemoryGatewayError | None:
        said.append(refusal)
        return None

    body = orjson.dumps({"sql": sql})
    with pytest.raises(MemoryGatewayError):
        await live.client.call(Call("d1.query", "POST", f"/d1/database/{live.database_id}/query", body), listen)
    return said[0]


async def test_a_batch_over_rest_is_undone_as_a_whole(live: Live) -> None:
    await live.database.run([CREATE])
    with pytest.raises(DatabaseRejected):
        await live.database.run([ADD, ADD])
    assert await live.database.run([Statement("SELECT id FROM thing")]) == [[]]


async def test_a_statement_that_is_wrong_is_answered_400_with_7500(live: Live) -> None:
    refusal = await refusal_of(live, "SELEC 1")
    assert (refusal.status, refusal.code) == (400, 7500), refusal


@pytest.mark.parametrize(("value", "kind"), [("a", "text"), (1, "real"), (None, "null"), ([1, 2], "blob")])
async def test_a_parameter_is_bound_with_this_type(live: Live, value: Any, kind: str) -> None:
    ((row,),) = [r["results"] for r in await query(live, {"sql": "SELECT typeof(?) AS kind", "params": [value]})]
    assert row["kind"] == kind


async def test_our_migrations_apply(live: Live) -> None:
    assert await migrate(live.database)
    assert await migrate(live.database) == []


async def test_a_filter_on_a_key_without_an_index_is_refused(live: Live) -> None:
    with pytest.raises(UpstreamRejected):
        raise Told(await ask(live, filter={"nobody_declared_this": 1}))


async def test_a_hundred_matches_may_be_asked_for_with_indexed_metadata(live: Live) -> None:
    assert (await ask(live, topK=100, returnMetadata="indexed"))["matches"] == []


async def test_a_written_vector_is_found_within_four_minutes_through_its_scope_and_the_mark_passes_it(
    live: Live,
) -> None:
    values = np.zeros(32, np.float32)
    values[0] = 1
    async with asyncio.timeout(_VISIBLE_SECONDS):
        while not set(await live.index.metadata_indexes()) >= SCOPE_READY:
            await asyncio.sleep(2)
    vector = IndexedVector(SCOPE, str(ULID()), values, 1, 1)
    await live.index.upsert([vector])
    async with asyncio.timeout(_VISIBLE_SECONDS):
        while not (await live.index.query(SCOPE, values, top_k=1, where=Filter(created_before=2))).hits:
            await asyncio.sleep(3)
    (hit,) = (await live.index.query(SCOPE, values, top_k=1, where=Filter())).hits
    assert hit.id == vector.id
    assert hit.score == pytest.approx(1, abs=0.01)
    assert (await live.index.info())["processedUpToDatetime"]
    assert await live.index.held([vector.id, str(ULID())]) == {vector.id: IndexRecord(SCOPE, 1, live.config.label)}
    assert (await live.index.list_ids()).ids == [vector.id]
    found = [bool(await live.index.sample(SCOPE.tenant_id, agent_id)) for agent_id in (SCOPE.agent_id, None, "another")]
    assert found == [True, True, False]


async def test_an_index_without_vectors_lists_none(live: Live) -> None:
    assert await live.index.list_ids() == IdPage([], None)


async def test_a_cursor_that_nobody_handed_out_is_refused_as_expired(live: Live) -> None:
    with pytest.raises(CursorExpired):
        raise Told(await live.index.list_ids("nobody"))


async def test_a_vector_that_cannot_be_taken_is_refused_as_such(live: Live) -> None:
    with pytest.raises(VectorRefused):
        raise Told(await live.index.upsert([IndexedVector(SCOPE, str(ULID()), np.ones(31, np.float32), 1, 1)]))


SCOPE_READY = {"tenant_id", "agent_id", "created_at"}
