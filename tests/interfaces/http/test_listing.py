"""Looking at what is there: listing page by page, one by its id, and cursors that are good for nothing else."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidCursor
from app.domain.query import Filter
from app.interfaces.cursors import HOLDS_MS, Cursors
from app.services.access.credentials import Credentials
from app.storage.listing import ListPosition
from tests.support.damage import created_at_once
from tests.support.generation import examples
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service

OLD, NEW = "o" * 32, "n" * 32
LISTING: Mapping[str, object] = {"tenant_id": "acme", "agent_id": "bot", "where": Filter(metadata={"k": 1})}
PLACE = ListPosition(1_790_000_000_000, "01K2Z4M1V7Q8T3B5N6C7D8E9FA")
NOW = PLACE.created_at + 5


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


async def ask(service: Service, *, tenant: str = "acme", agent: str | None = None, **query: Any) -> httpx.Response:
    headers = service.credential(tenant, agent, admin=agent is None)
    return await service.client.get("/memories", params=query, headers=headers)


async def page(service: Service, **query: Any) -> dict[str, Any]:
    answer = await ask(service, **query)
    assert answer.status_code == 200, answer.text
    listed: dict[str, Any] = answer.json()
    return listed


async def pages(service: Service, **query: Any) -> list[list[str]]:
    """List to the end; return the contents, page by page."""
    found: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        listed = await page(service, **query, **cursor)
        found.append([memory["content"] for memory in listed["memories"]])
        if "cursor" not in listed:
            return found
        cursor = {"cursor": listed["cursor"]}


async def test_a_listing_is_newest_first_and_whole_however_it_is_cut(service: Service) -> None:
    for n in range(7):
        await service.store(f"text {n}", agent_id=f"agent-{n % 2}")
    await service.store("theirs", tenant="other")
    newest_first = [f"text {n}" for n in reversed(range(7))]
    for limit in (1, 2, 3, 7, 100):
        cut = await pages(service, limit=limit)
        assert [content for contents in cut for content in contents] == newest_first
        assert all(len(contents) == limit for contents in cut[:-1])
    assert await pages(service, agent_id="agent-1") == [newest_first[1::2]]
    assert await pages(service, agent="agent-1") == [newest_first[1::2]]
    assert await pages(service, tenant="nobody") == [[]]


async def test_memories_of_one_moment_are_each_listed_once(service: Service) -> None:
    for n in range(9):
        await service.store(f"text {n}")
    await created_at_once(service)
    found = [content for contents in await pages(service, limit=2) for content in contents]
    assert sorted(found) == [f"text {n}" for n in range(9)]


async def test_what_is_stored_and_deleted_meanwhile_moves_nothing_else(service: Service) -> None:
    for n in range(6):
        await service.store(f"text {n}")
    first = await page(service, limit=2)
    assert [memory["content"] for memory in first["memories"]] == ["text 5", "text 4"]
    await service.delete(first["memories"][1]["id"])  # where the cursor stands
    await service.store("new")
    second = await page(service, limit=2, cursor=first["cursor"])
    assert [memory["content"] for memory in second["memories"]] == ["text 3", "text 2"]


async def test_a_listing_shows_all_that_was_stored_and_passes_the_filter(service: Service) -> None:
    fields = {"session_id": "s", "occurred_at": "2026-01-01T00:00:00Z", "expires_at": "2999-01-01T00:00:00+01:00"}
    await service.store("full", metadata={"k": 1, "none": None}, **fields)
    await service.store("plain", metadata={"k": True})
    plain, full = (await page(service))["memories"]
    assert set(plain) == {"id", "agent_id", "content", "metadata", "created_at", "source", "type"}
    assert full["metadata"] == {"k": 1, "none": None}
    assert (full["session_id"], full["agent_id"]) == ("s", "bot")
    assert (full["occurred_at"], full["expires_at"]) == ("2026-01-01T00:00:00.000Z", "2998-12-31T23:00:00.000Z")
    assert await pages(service, metadata='{"k": 1}') == [["full"]]
    assert await pages(service, metadata='{"k": true}') == [["plain"]]
    assert await pages(service, created_after=full["created_at"]) == [["plain"]]
    assert await pages(service, created_before=plain["created_at"]) == [["full"]]
    got = await service.client.get(
        f"/memories/{full['id']}", params={"agent_id": "bot"}, headers=service.credential(agent="bot")
    )
    assert (got.status_code, got.json()) == (200, full)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"limit": "1.0"}, "limit"),
        ({"agent_id": "a b"}, "agent_id"),
        ({"created_after": "yesterday"}, "created_after"),
        ({"metadata": "{"}, "metadata"),
        ({"metadata": "[]"}, "metadata"),
        ({"metadata": "[" * 10_000}, "metadata"),
        ({"metadata": '{"k": [1]}'}, "metadata"),
        ({"metadata": '{"k": 1e400}'}, "metadata"),
        ({"tenant_id": "other"}, "tenant_id"),
    ],
)
async def test_a_question_that_cannot_be_is_refused_by_name(
    shared_service: Service, query: dict[str, str], field: str
) -> None:
    assert named_fields(assert_problem(await ask(shared_service, **query), 422, "invalid_request")) == {field}


async def test_only_an_administrator_and_a_credential_for_the_agent_look_at_memories(service: Service) -> None:
    await service.store("text")
    (memory,) = (await page(service))["memories"]
    for path in ("/memories", f"/memories/{memory['id']}", "/usage"):
        for credential, status in (
            (service.credential(), 403),
            (service.credential(agent="other"), 403),
            (service.credential(agent="other", admin=True), 403),
            (service.credential(agent="bot"), 200),
            (service.credential(admin=True), 200),
        ):
            answer = await service.client.get(path, params={"agent_id": "bot"}, headers=credential)
            assert answer.status_code == status, path
        assert_problem(await service.client.get(path), 401, "unauthenticated")


async def test_a_memory_of_another_scope_and_one_that_never_was_look_the_same(service: Service) -> None:
    await service.store("text")
    (memory,) = (await page(service))["memories"]
    bodies = set()
    for id_, tenant, agent_id in (
        (memory["id"], "other", "bot"),
        (memory["id"], "acme", "other"),
        ("01K2Z4M1V7Q8T3B5N6C7D8E9FA", "acme", "bot"),
    ):
        headers = service.credential(tenant, admin=True) | {"X-Request-Id": "same"}
        answer = await service.client.get(f"/memories/{id_}", params={"agent_id": agent_id}, headers=headers)
        assert_problem(answer, 404, "not_found")
        bodies.add(answer.text)
    assert len(bodies) == 1


async def test_an_empty_cursor_begins_the_listing(service: Service) -> None:
    for n in range(3):
        await service.store(f"text {n}")
    first = await page(service, limit=2, cursor="")
    assert [memory["content"] for memory in first["memories"]] == ["text 2", "text 1"]


async def test_a_cursor_of_another_listing_is_refused_as_a_forged_one_is(service: Service) -> None:
    for n in range(3):
        await service.store(f"text {n}")
        await service.store(f"text {n}", tenant="other")
    cursor = (await page(service, limit=1))["cursor"]
    answers = [
        await ask(service, limit=1, cursor=cursor, tenant="other"),
        await ask(service, limit=1, cursor=cursor, agent="bot"),
        await ask(service, limit=1, cursor=cursor, agent_id="bot"),
        await ask(service, limit=1, cursor=cursor, metadata='{"k": 1}'),
        await ask(service, limit=1, cursor=cursor, created_after="2020-01-01T00:00:00Z"),
        *[await ask(service, cursor=forged) for forged in (".", "x", cursor[:-1], cursor.upper(), "é.é")],
    ]
    assert len({assert_problem(answer, 400, "invalid_cursor")["detail"] for answer in answers}) == 1
    assert (await ask(service, limit=100, cursor=cursor)).status_code == 200


def read(
    text: str, *, secrets: dict[str, str] | None = None, listing: Mapping[str, object] = LISTING, now: int = NOW
) -> ListPosition:
    return Cursors(Credentials(secrets or {"old": OLD}), listing).read(text, now=now)


def written(listing: Mapping[str, object] = LISTING) -> str:
    return Cursors(Credentials({"old": OLD}), listing).write(PLACE, now=NOW)


def test_a_cursor_outlives_the_rotation_of_its_secret_and_not_its_loss() -> None:
    assert read(written(), secrets={"new": NEW, "old": OLD}) == PLACE
    with pytest.raises(InvalidCursor):
        read(written(), secrets={"new": NEW})


def test_a_cursor_is_good_for_a_day() -> None:
    assert read(written(), now=NOW + HOLDS_MS) == PLACE
    with pytest.raises(InvalidCursor):
        read(written(), now=NOW + HOLDS_MS + 1)


def test_a_credential_is_no_cursor_and_a_cursor_signs_nothing_else() -> None:
    credentials = Credentials({"old": OLD})
    assert credentials.keys("one purpose") != credentials.keys("another")
    assert OLD.encode() not in credentials.keys("one purpose")
    with pytest.raises(InvalidCursor):
        read(credentials.issue("acme", now=NOW))


@settings(max_examples=examples(300), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_tampering_with_a_cursor_is_refused(data: st.DataObject) -> None:
    cursor = written()
    at = data.draw(st.integers(0, len(cursor)))
    length = data.draw(st.integers(0, 3))
    tampered = cursor[:at] + data.draw(st.text(max_size=3)) + cursor[at + length :]
    assume(tampered != cursor)
    with pytest.raises(InvalidCursor):
        read(tampered)


ids = st.text("ab", min_size=1, max_size=3)
filters = st.builds(
    Filter, st.none() | st.integers(0, 2), st.none() | st.integers(0, 2), st.dictionaries(ids, st.integers(0, 1))
)
listings = st.fixed_dictionaries({"tenant_id": ids, "agent_id": st.none() | ids, "where": filters})


@given(one=listings, other=listings)
def test_a_cursor_of_one_listing_is_none_of_any_other(one: Mapping[str, object], other: Mapping[str, object]) -> None:
    if one == other:
        assert read(written(one), listing=other) == PLACE
    else:
        with pytest.raises(InvalidCursor):
            read(written(one), listing=other)
