"""Namespaces over HTTP, as Cloudflare's Agent Memory documents them."""

import asyncio
import re
from urllib.parse import quote

import pytest

from app.domain import limits
from app.domain.profiles import ProfileName
from tests.support.envelope_shape import ACCOUNT, NAMESPACES, assert_failure, named_fields, result_of
from tests.support.memories import memory_ids
from tests.support.service import Service
from tests.support.tables import Asked, rows_of

MEMORY = {"content": "The user prefers concise answers."}


async def create(service: Service, name: str, tenant: str = "acme") -> dict[str, str]:
    answer = await service.post(NAMESPACES, {"name": name}, tenant=tenant, admin=True)
    namespace: dict[str, str] = result_of(answer, 201)
    return namespace


async def names(service: Service, tenant: str = "acme", **query: str) -> list[str]:
    answer = await service.client.get(NAMESPACES, params=query, headers=service.credential(tenant, admin=True))
    return [namespace["name"] for namespace in result_of(answer)]


async def remember(service: Service, namespace: str, profile: str, tenant: str = "acme") -> None:
    path = f"{NAMESPACES}/{namespace}/profiles/{quote(profile, safe='')}/remember"
    result_of(await service.post(path, MEMORY, tenant=tenant))


async def held(service: Service, tenant: str = "acme") -> int:
    return len(await memory_ids(service, tenant_id=tenant))


async def erased(service: Service, agent_id: str) -> None:
    """Let the indexer work until the agent's erasure has its receipt."""
    await until_none(service, "erasure", agent_id=agent_id, receipt=None)


async def until_none(service: Service, table: str, **where: Asked) -> None:
    """Let the indexer work until a table has no such rows."""
    for _ in range(100):
        if not await rows_of(service, table, by="", **where):
            return
        await service.runtime.indexer.round()
        await asyncio.sleep(0.05)
    raise AssertionError(table)


async def test_a_namespace_is_created_shown_and_listed_with_the_fields_that_are_documented(
    any_service: Service,
) -> None:
    service = any_service
    created = await create(service, "my-app")
    assert list(created) == ["id", "name", "account_id", "created_at", "updated_at"]
    assert re.fullmatch(limits.MEMORY_ID_FORM, created["id"])
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", created["created_at"])
    assert (created["name"], created["account_id"], created["updated_at"]) == ("my-app", ACCOUNT, created["created_at"])
    admin = service.credential(admin=True)
    assert result_of(await service.client.get(f"{NAMESPACES}/my-app", headers=admin)) == created
    listing = await service.client.get(NAMESPACES, headers=admin)
    assert result_of(listing) == [created]
    assert listing.json()["result_info"] == {"cursor": "", "per_page": 20, "count": 1}


async def test_a_name_is_taken_once_in_a_tenant(any_service: Service) -> None:
    await create(any_service, "my-app")
    again = await any_service.post(NAMESPACES, {"name": "my-app"}, admin=True)
    (error,) = assert_failure(again, 409, 10008)
    assert error == {"code": 10008, "message": "Namespace name already exists"}
    await create(any_service, "my-app", tenant="other")
    assert await names(any_service, tenant="other") == ["my-app"]


async def test_the_account_in_the_path_makes_no_difference(service: Service) -> None:
    await create(service, "my-app")
    other = NAMESPACES.replace(ACCOUNT, "another")
    assert (
        result_of(await service.client.get(f"{other}/my-app", headers=service.credential(admin=True)))["account_id"]
        == "another"
    )
    assert_failure(
        await service.client.get(f"{NAMESPACES}/my-app", headers=service.credential("other", admin=True)), 404, 1003
    )


@pytest.mark.parametrize("order", ["id", "name"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
async def test_a_listing_goes_on_where_its_cursor_says_in_either_order(
    service: Service, order: str, direction: str
) -> None:
    made = ["delta", "alpha", "charlie", "bravo", "echo"]
    for name in made:
        await create(service, name)
    query: dict[str, str] = {"order": order, "direction": direction, "per_page": "2"}
    seen: list[str] = []
    while True:
        answer = await service.client.get(NAMESPACES, params=query, headers=service.credential(admin=True))
        seen += [namespace["name"] for namespace in result_of(answer)]
        query["cursor"] = answer.json()["result_info"]["cursor"]
        if not query["cursor"]:
            break
    expected = sorted(made) if order == "name" else made
    assert seen == (expected if direction == "asc" else expected[::-1])


async def test_a_cursor_of_another_listing_or_tenant_is_refused(service: Service) -> None:
    for tenant in ("acme", "other"):
        for name in ("a", "b"):
            await create(service, name, tenant=tenant)
    admin = service.credential(admin=True)
    first = await service.client.get(NAMESPACES, params={"per_page": "1"}, headers=admin)
    cursor = first.json()["result_info"]["cursor"]
    for query, headers in (
        ({"order": "name", "cursor": cursor}, admin),
        ({"cursor": cursor}, service.credential("other", admin=True)),
        ({"cursor": f"{cursor}x"}, admin),
    ):
        assert_failure(await service.client.get(NAMESPACES, params=query, headers=headers), 400, 1400)


@pytest.mark.parametrize("name", ["", "My-App", "a" * 33, "-a", "a-", "a_b", "a b", "å", None, 5])
async def test_a_name_of_another_form_is_refused(service: Service, name: object) -> None:
    errors = assert_failure(await service.post(NAMESPACES, {"name": name}, admin=True), 400, 1400)
    assert named_fields(errors) == {"/name"}
    assert await names(service) == []


async def test_a_name_is_32_characters_at_most(service: Service) -> None:
    await create(service, "a" * 32)
    await create(service, "0")


async def test_a_tenant_has_a_thousand_namespaces_at_most(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.MAX_NAMESPACES == 1000
    monkeypatch.setattr(limits, "MAX_NAMESPACES", 2)
    await create(service, "a")
    await create(service, "b")
    refused = await service.post(NAMESPACES, {"name": "c"}, admin=True)
    assert_failure(refused, 429, 1429)
    assert refused.headers["quota-warning"] == "namespaces;scope=tenant;used=2;limit=2"
    await create(service, "c", tenant="other")
    await remember(service, "default", "bot")  # which needs no creation


async def test_what_is_not_there_is_not_found(service: Service) -> None:
    admin = service.credential(admin=True)
    for method in ("GET", "DELETE"):
        (error,) = assert_failure(await service.client.request(method, f"{NAMESPACES}/gone", headers=admin), 404, 1003)
        assert error["message"] == "namespace not found"


@pytest.mark.parametrize("rights", [{}, {"agent": "bot"}, {"agent": "bot", "admin": True}])
async def test_only_an_administrator_of_all_agents_has_a_part_in_namespaces(
    service: Service, rights: dict[str, object]
) -> None:
    await create(service, "my-app")
    headers = service.credential(**rights)  # type: ignore[arg-type]
    for method, path in (("GET", ""), ("POST", ""), ("GET", "/my-app"), ("DELETE", "/my-app")):
        body = {"name": "other"} if method == "POST" else None
        answer = await service.client.request(method, NAMESPACES + path, headers=headers, json=body)
        assert_failure(answer, 403, 9109)
        assert "insufficient_scope" in answer.headers["www-authenticate"]
    assert await names(service) == ["my-app"]


async def test_a_namespace_takes_its_profiles_along_and_nothing_else(any_service: Service) -> None:
    service = any_service
    for name in ("my-app", "my-app-2"):
        await create(service, name)
        await create(service, name, tenant="other")
        await remember(service, name, "ann")
        await remember(service, name, "Ben / 2")
        await remember(service, name, "ann", tenant="other")
    await remember(service, "default", "my-app")
    assert (await held(service), await held(service, "other")) == (5, 2)
    admin = service.credential(admin=True)
    assert result_of(await service.client.delete(f"{NAMESPACES}/my-app", headers=admin)) is None
    assert await names(service) == ["my-app-2", "default"]
    for profile in ("ann", "Ben / 2"):  # a receipt waits for Cloudflare's index, a minute and more
        agent_id = ProfileName("my-app", profile).agent_id
        await until_none(service, "long_term_memory", tenant_id="acme", agent_id=agent_id)
    assert (await held(service), await held(service, "other")) == (3, 2)
    assert_failure(await service.client.delete(f"{NAMESPACES}/my-app", headers=admin), 404, 1003)


async def test_a_name_that_was_deleted_may_be_used_again_and_begins_empty(service: Service) -> None:
    first = await create(service, "my-app")
    await remember(service, "my-app", "ann")
    admin = service.credential(admin=True)
    await service.client.delete(f"{NAMESPACES}/my-app", headers=admin)
    assert (await create(service, "my-app"))["id"] != first["id"]
    await erased(service, ProfileName("my-app", "ann").agent_id)
    listing = f"{NAMESPACES}/my-app/profiles/ann/memories"
    (error,) = assert_failure(await service.client.get(listing, headers=admin), 404, 1003)
    assert error["message"] == "profile not found"
    await remember(service, "my-app", "ann")
    assert len(result_of(await service.client.get(listing, headers=admin))) == 1


async def test_nothing_is_stored_in_a_profile_while_its_namespace_is_being_deleted(service: Service) -> None:
    await create(service, "my-app")
    await remember(service, "my-app", "ann")
    await service.client.delete(f"{NAMESPACES}/my-app", headers=service.credential(admin=True))
    path = f"{NAMESPACES}/my-app/profiles/ann/remember"
    assert_failure(await service.post(path, MEMORY), 404, 1003)
    await create(service, "my-app")
    answer = await service.post(path, MEMORY)
    if answer.status_code != 200:  # the erasure has not ended yet
        assert_failure(answer, 409, 1409)


async def test_the_namespace_default_cannot_be_deleted_with_the_agents_of_other_routes(service: Service) -> None:
    await service.store("stored by another route")
    await remember(service, "default", "bot")
    assert await names(service) == ["default"]
    (error,) = assert_failure(
        await service.client.delete(f"{NAMESPACES}/default", headers=service.credential(admin=True)), 409, 1409
    )
    assert "default" in error["message"]
    assert await held(service) == 2
