"""The archive over HTTP: listed, read and restored by administrators alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.services.archive.moving import ArchiveMover
from app.storage.archive import ArchivedObject
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(tmp_path) as service:
        yield service


async def archived(service: Service, agent_id: str = "bot") -> ArchivedObject:
    """Archive a memory of an agent."""
    await service.store("of long ago", agent_id=agent_id)
    backends = service.runtime.backends.of_tenant("acme")
    assert await ArchiveMover(backends, agent_id).move(backends.clock() + 60_000, now=backends.clock()) == 1
    (object_,) = await service.runtime.services("acme").archives.list(agent_id=agent_id)
    return object_


async def test_what_is_archived_is_listed_read_and_restored(service: Service) -> None:
    object_, headers = await archived(service), service.credential(admin=True)
    listed = await service.client.get("/archive", params={"agent_id": "bot", "kind": "memories"}, headers=headers)
    (told,) = listed.json()["objects"]
    assert (told["archive_id"], told["items"], told["first_id"]) == (object_.id, 1, object_.first_id)
    for query in ({"since": "2100-01-01T00:00:00Z"}, {"until": "2000-01-01T00:00:00Z"}, {"before": object_.id}):
        nothing = await service.client.get("/archive", params=query, headers=headers)
        assert nothing.json() == {"objects": []}
    within = {"since": told["first_at"], "until": told["last_at"]}
    assert (await service.client.get("/archive", params=within, headers=headers)).json()["objects"] == [told]
    one = await service.client.get(f"/memories/{object_.first_id}", params={"agent_id": "bot"}, headers=headers)
    assert_problem(one, 404, "not_found")
    assert await service.contents("of long ago") == []
    item = await service.client.get(f"/archive/items/{object_.first_id}", headers=headers)
    assert (item.json()["archive_id"], item.json()["item"]["content"]) == (object_.id, "of long ago")
    restored = await service.client.post(f"/archive/{object_.id}/restore", headers=headers)
    assert restored.json() == {"imported": 1, "unchanged": 0, "duplicate": 0, "conflict": 0, "rejected": 0}
    assert await service.contents("of long ago") == ["of long ago"]
    assert_problem(await service.client.post(f"/archive/{object_.id}/restore", headers=headers), 404, "not_found")


async def test_an_object_that_is_missing_is_410_and_named(service: Service) -> None:
    object_, headers = await archived(service), service.credential(admin=True)
    await service.runtime.backends.objects.delete(f"t/acme/{object_.id}")
    for answer in (
        await service.client.get(f"/archive/items/{object_.first_id}", headers=headers),
        await service.client.post(f"/archive/{object_.id}/restore", headers=headers),
    ):
        assert_problem(answer, 410, "object_gone")
        assert f"t/acme/{object_.id}" in answer.json()["detail"]


async def test_only_an_administrator_may_look_and_one_of_an_agent_sees_its_own_alone(service: Service) -> None:
    object_, own = await archived(service), await archived(service, "other")
    assert_problem(await service.client.get("/archive", headers=service.credential()), 403, "forbidden")
    headers = service.credential(agent="other", admin=True)
    listed = (await service.client.get("/archive", headers=headers)).json()["objects"]
    assert [each["archive_id"] for each in listed] == [own.id]
    hidden = await service.client.get(f"/archive/items/{object_.first_id}", headers=headers)
    assert_problem(hidden, 404, "not_found")
    assert_problem(await service.client.post(f"/archive/{object_.id}/restore", headers=headers), 404, "not_found")
    assert (await service.client.get(f"/archive/items/{own.first_id}", headers=headers)).status_code == 200
