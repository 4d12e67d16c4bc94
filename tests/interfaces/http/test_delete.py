from typing import Any

import pytest

from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service


@pytest.fixture
def service(any_service: Service) -> Service:
    """Here, on every backend."""
    return any_service


ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def id_of(service: Service, content: str, **whose: Any) -> str:
    await service.store(content, **whose)
    (entry,) = await service.recall(content, top_k=1, **whose)
    memory_id: str = entry["id"]
    return memory_id


async def test_a_deleted_memory_is_gone_from_the_next_recall(service: Service) -> None:
    memory_id = await id_of(service, "to be forgotten")
    await service.store("to be kept")
    answer = await service.delete(memory_id)
    assert (answer.status_code, answer.content) == (204, b"")
    assert await service.contents("to be forgotten") == ["to be kept"]


async def test_deleting_again_and_deleting_what_never_was_are_no_errors(service: Service) -> None:
    memory_id = await id_of(service, "once")
    for gone in (memory_id, memory_id, ABSENT):
        assert (await service.delete(gone)).status_code == 204


async def test_a_deleted_memory_can_be_stored_again_under_a_new_id(service: Service) -> None:
    first = await id_of(service, "again")
    await service.delete(first)
    assert await id_of(service, "again") != first


async def test_the_wrong_agent_or_tenant_deletes_nothing(service: Service) -> None:
    memory_id = await id_of(service, "mine")
    for whose in ({"agent_id": "other"}, {"tenant": "other"}):
        assert (await service.delete(memory_id, **whose)).status_code == 204
    assert await service.contents("mine") == ["mine"]


async def test_deleting_needs_the_admin_scope(service: Service) -> None:
    memory_id = await id_of(service, "kept")
    answer = await service.client.delete(
        f"/memories/{memory_id}", params={"agent_id": "bot"}, headers=service.credential()
    )
    assert_problem(answer, 403, "forbidden")
    assert await service.contents("kept") == ["kept"]


async def test_an_administrator_of_one_agent_deletes_for_that_agent_only(service: Service) -> None:
    memory_id = await id_of(service, "kept", agent_id="other")
    headers = service.credential(agent="bot", admin=True)
    answer = await service.client.delete(f"/memories/{memory_id}", params={"agent_id": "other"}, headers=headers)
    assert_problem(answer, 403, "forbidden")
    assert await service.contents("kept", agent_id="other") == ["kept"]


@pytest.mark.parametrize("memory_id", ["1", ABSENT.lower(), ABSENT + "A", "8" + ABSENT[1:], "%00", "I" * 26])
async def test_an_id_that_is_no_ulid_is_refused(shared_service: Service, memory_id: str) -> None:
    answer = await shared_service.delete(memory_id)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"memory_id"}


@pytest.mark.parametrize(
    ("params", "field"),
    [({}, "agent_id"), ({"agent_id": "a b"}, "agent_id"), ({"agent_id": "bot", "tenant": "other"}, "tenant")],
)
async def test_a_wrong_query_is_refused(shared_service: Service, params: dict[str, str], field: str) -> None:
    headers = shared_service.credential(admin=True)
    answer = await shared_service.client.delete(f"/memories/{ABSENT}", params=params, headers=headers)
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}
