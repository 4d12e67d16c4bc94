"""Profiles over HTTP, as Cloudflare's Agent Memory documents them."""

import re
from typing import Any
from urllib.parse import quote

import pytest

from app.domain.profiles import ProfileName
from tests.services.compared import compare, of_one_thing
from tests.services.scripted_reader import INSTRUCTION, ScriptedReader
from tests.support.envelope_shape import NAMESPACES, assert_failure, result_of
from tests.support.service import Service

CONTENT = "The user prefers concise answers."
MEMORY = ["id", "type", "summary", "content", "sessionId", "createdAt", "updatedAt"]
MOVED = ScriptedReader(of_one_thing("I live in Rome.", "I moved to Oslo."))
ODD = "Ann Ångström / 2"


def path_of(profile: str, namespace: str = "my-app") -> str:
    return f"{NAMESPACES}/{namespace}/profiles/{quote(profile, safe='')}"


@pytest.fixture
async def profiles(any_service: Service) -> Service:
    result_of(await any_service.post(NAMESPACES, {"name": "my-app"}, admin=True), 201)
    return any_service


async def ask(service: Service, method: str, path: str, body: Any = None, tenant: str = "acme", **query: str) -> Any:
    answer = await service.client.request(
        method, path, json=body, params=query, headers=service.credential(tenant, admin=True)
    )
    return result_of(answer)


async def remember(service: Service, profile: str, content: str = CONTENT, **more: Any) -> dict[str, Any]:
    memory: dict[str, Any] = await ask(service, "POST", f"{path_of(profile)}/remember", {"content": content, **more})
    return memory


async def test_what_is_remembered_is_answered_found_listed_and_shown_with_the_documented_fields(
    profiles: Service,
) -> None:
    memory = await remember(profiles, "ann", sessionId="chat-1")
    assert list(memory) == MEMORY
    assert (memory["content"], memory["summary"], memory["sessionId"]) == (CONTENT, CONTENT, "chat-1")
    assert memory["type"] in {"fact", "event", "instruction", "task"}
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", memory["createdAt"])
    recalled = await ask(profiles, "POST", f"{path_of('ann')}/recall", {"query": "Which answers does the user prefer?"})
    assert list(recalled) == ["answer", "count", "candidates"]
    assert (recalled["count"], len(recalled["candidates"])) == (1, 1)
    assert "concise" in recalled["answer"]
    (candidate,) = recalled["candidates"]
    assert list(candidate) == ["id", "summary", "sessionId", "score"]
    assert (candidate["id"], candidate["sessionId"]) == (memory["id"], "chat-1")
    (listed,) = await ask(profiles, "GET", f"{path_of('ann')}/memories")
    assert listed == {name: memory[name] for name in MEMORY if name != "content"}
    assert await ask(profiles, "GET", f"{path_of('ann')}/memories/{memory['id']}") == memory


async def test_the_same_content_is_remembered_once_in_a_session(profiles: Service) -> None:
    memories = [await remember(profiles, "ann", sessionId=session) for session in ("1", "1", "2")]
    assert len({memory["id"] for memory in memories}) == 2


async def test_a_session_may_be_null_and_what_is_unknown_is_passed_over(profiles: Service) -> None:
    memory = await remember(profiles, "ann", sessionId=None, tags=["a"])
    assert memory["sessionId"] is None
    await ask(profiles, "GET", f"{path_of('ann')}/memories", page="1", perPage="20")


async def test_nothing_found_is_an_empty_answer_and_a_profile_without_memories_is_not_found(profiles: Service) -> None:
    await remember(profiles, "ann")
    where = {"query": "x"}
    (error,) = assert_failure(await profiles.post(f"{path_of('ben')}/recall", where), 404, 1003)
    assert error["message"] == "profile not found"
    (error,) = assert_failure(await profiles.post(f"{path_of('ann', 'gone')}/recall", where), 404, 1003)
    assert error["message"] == "namespace not found"
    memory = await ask(profiles, "GET", f"{path_of('ann')}/memories", type="task")
    assert memory == []


async def test_a_listing_goes_on_where_its_cursor_says_newest_first(profiles: Service) -> None:
    made = [(await remember(profiles, "ann", f"note {number}"))["id"] for number in range(5)]
    seen: list[str] = []
    query: dict[str, Any] = {"per_page": "2"}
    admin = profiles.credential(admin=True)
    while True:
        answer = await profiles.client.get(f"{path_of('ann')}/memories", params=query, headers=admin)
        seen += [memory["id"] for memory in result_of(answer)]
        info = answer.json()["result_info"]
        assert (info["per_page"], info["count"]) == (2, len(answer.json()["result"]))
        if not info["cursor"]:
            break
        query["cursor"] = info["cursor"]
    assert seen == made[::-1]
    for other in ({"session_id": "x"}, {"type": "fact"}):
        listing = await profiles.client.get(f"{path_of('ann')}/memories", params=query | other, headers=admin)
        assert_failure(listing, 400, 1400)


async def test_a_listing_is_of_one_session_or_one_type(profiles: Service) -> None:
    first = await remember(profiles, "ann", sessionId="1")
    second = await remember(profiles, "ann", "Always answer in one sentence.", sessionId="2")
    await compare(profiles.runtime.backends, ScriptedReader(of_kinds={second["content"]: INSTRUCTION}))
    path = f"{path_of('ann')}/memories"
    assert [each["id"] for each in await ask(profiles, "GET", path, session_id="1")] == [first["id"]]
    assert [each["id"] for each in await ask(profiles, "GET", path, type="instruction")] == [second["id"]]
    assert await ask(profiles, "GET", path, type="instruction", session_id="1") == []
    assert len(await ask(profiles, "GET", path, per_page="1000")) == 2


async def test_a_superseded_memory_is_not_listed_and_a_forgotten_one_is_not_there(profiles: Service) -> None:
    old = await remember(profiles, "ann", "I live in Rome.")
    new = await remember(profiles, "ann", "I moved to Oslo.")
    await compare(profiles.runtime.backends, MOVED)
    path = f"{path_of('ann')}/memories"
    assert [each["id"] for each in await ask(profiles, "GET", path)] == [new["id"]]
    assert (await ask(profiles, "GET", f"{path}/{old['id']}"))["content"] == "I live in Rome."
    await profiles.runtime.services("acme").profiles.forget(ProfileName("my-app", "ann").agent_id, new["id"])
    assert await ask(profiles, "GET", path) == []
    headers = profiles.credential(admin=True)
    assert_failure(await profiles.client.get(f"{path}/{new['id']}", headers=headers), 404, 1003)


async def test_only_an_administrator_deletes_and_is_given_what_was_deleted(profiles: Service) -> None:
    memory = await remember(profiles, "ann")
    path = f"{path_of('ann')}/memories/{memory['id']}"
    assert_failure(await profiles.client.delete(path, headers=profiles.credential()), 403, 9109)
    assert_failure(await profiles.client.delete(path_of("ann"), headers=profiles.credential()), 403, 9109)
    assert await ask(profiles, "DELETE", path) == memory
    assert_failure(await profiles.client.delete(path, headers=profiles.credential(admin=True)), 404, 1003)


async def test_another_profile_s_memory_is_not_found(profiles: Service) -> None:
    memory = await remember(profiles, "ann")
    await remember(profiles, "ben")
    for method in ("GET", "DELETE"):
        path = f"{path_of('ben')}/memories/{memory['id']}"
        answer = await profiles.client.request(method, path, headers=profiles.credential(admin=True))
        assert_failure(answer, 404, 1003)


async def test_profiles_of_one_name_in_two_namespaces_and_two_tenants_are_apart(profiles: Service) -> None:
    await profiles.post(NAMESPACES, {"name": "other-app"}, admin=True)
    await profiles.post(NAMESPACES, {"name": "my-app"}, tenant="other", admin=True)
    memory = await remember(profiles, "ann")
    for path, tenant in ((path_of("ann", "other-app"), "acme"), (path_of("ann"), "other")):
        await ask(profiles, "POST", f"{path}/remember", {"content": "Something else"}, tenant=tenant)
        assert CONTENT not in str(await ask(profiles, "GET", f"{path}/memories", tenant=tenant))
        answer = await profiles.client.get(
            f"{path}/memories/{memory['id']}", headers=profiles.credential(tenant, admin=True)
        )
        assert_failure(answer, 404, 1003)


async def test_a_profile_may_have_any_name_of_a_hundred_characters(profiles: Service) -> None:
    names = [ODD, "å" * 100, "a/memories/b", "%2F", "a b", "?#", "\U0001f600"]
    ids = {name: (await remember(profiles, name))["id"] for name in names}
    assert len(set(ids.values())) == len(names)
    for name, id_ in ids.items():
        assert [each["id"] for each in await ask(profiles, "GET", f"{path_of(name)}/memories")] == [id_]


async def test_a_slash_in_a_name_leads_to_no_other_profile(profiles: Service) -> None:
    memory = await remember(profiles, "ann")
    headers = profiles.credential(admin=True)
    # As a whole it names a profile of its own, and not a memory of ann's.
    assert result_of(await profiles.client.delete(path_of(f"ann/memories/{memory['id']}"), headers=headers)) is None
    assert len(await ask(profiles, "GET", f"{path_of('ann')}/memories")) == 1


async def test_in_the_namespace_default_a_profile_is_the_agent_of_every_other_route(profiles: Service) -> None:
    await profiles.store("Stored by another route", session_id="s")
    (listed,) = await ask(profiles, "GET", f"{path_of('bot', 'default')}/memories")
    assert (listed["summary"], listed["sessionId"]) == ("Stored by another route", "s")
    await ask(profiles, "POST", f"{path_of('bot', 'default')}/remember", {"content": CONTENT})
    assert CONTENT in await profiles.contents("Which answers does the user prefer?")


async def test_a_credential_for_one_agent_reaches_the_profile_that_it_is_and_no_other(profiles: Service) -> None:
    await remember(profiles, "ann")
    await remember(profiles, "ben")
    own = profiles.credential(agent=ProfileName("my-app", "ann").agent_id)
    assert len(result_of(await profiles.client.get(f"{path_of('ann')}/memories", headers=own))) == 1
    for method, path in (("GET", "/memories"), ("POST", "/recall"), ("POST", "/remember")):
        body = {"query": "x", "content": "x"} if method == "POST" else None
        answer = await profiles.client.request(method, path_of("ben") + path, headers=own, json=body)
        assert_failure(answer, 403, 9109)


async def test_a_deleted_profile_is_erased_and_may_be_deleted_again(profiles: Service) -> None:
    await remember(profiles, "ann")
    kept = await remember(profiles, "ben")
    for _ in range(2):
        assert await ask(profiles, "DELETE", path_of("ann")) is None
        assert_failure(await profiles.post(f"{path_of('ann')}/summary", {"sessionId": "none"}), 404, 1003)
    for _ in range(20):
        await profiles.runtime.indexer.round()
    headers = profiles.credential(admin=True)
    assert_failure(await profiles.client.get(f"{path_of('ann')}/memories", headers=headers), 404, 1003)
    assert [each["id"] for each in await ask(profiles, "GET", f"{path_of('ben')}/memories")] == [kept["id"]]
    assert_failure(await profiles.client.delete(path_of("ann", "gone"), headers=headers), 404, 1003)


async def test_a_session_is_deleted_as_a_whole_and_may_be_deleted_again(profiles: Service) -> None:
    await remember(profiles, "ann", sessionId="a/b")
    kept = await remember(profiles, "ann", "Another one", sessionId="c")
    session = f"{path_of('ann')}/sessions/{quote('a/b', safe='')}"
    assert_failure(await profiles.client.delete(session, headers=profiles.credential()), 403, 9109)
    for _ in range(2):
        assert await ask(profiles, "DELETE", session) is None
    assert [each["id"] for each in await ask(profiles, "GET", f"{path_of('ann')}/memories")] == [kept["id"]]
    headers = profiles.credential(admin=True)
    assert_failure(await profiles.client.delete(f"{path_of('ben')}/sessions/c", headers=headers), 404, 1003)
    assert_failure(await profiles.client.delete(f"{path_of('ann')}/sessions/{'s' * 65}", headers=headers), 400, 1400)


async def test_a_summary_is_markdown_of_what_holds_of_all_or_of_one_session(profiles: Service) -> None:
    await remember(profiles, "ann", "I live in Rome.", sessionId="1")
    await remember(profiles, "ann", "I moved to Oslo.", sessionId="2")
    await compare(profiles.runtime.backends, MOVED)
    path = f"{path_of('ann')}/summary"
    whole = await ask(profiles, "POST", path, {})
    assert list(whole) == ["summary"]
    assert "Oslo" in whole["summary"]
    assert "Rome" not in whole["summary"]
    assert "Oslo" in (await ask(profiles, "POST", path, {"sessionId": "2"}))["summary"]
    assert (await ask(profiles, "POST", path, {"sessionId": "3"}))["summary"] == ""
    (error,) = assert_failure(await profiles.post(f"{path_of('ben')}/summary", {}), 404, 1003)
    assert error["message"] == "profile not found"
