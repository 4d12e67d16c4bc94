"""Every mistake of a caller of Cloudflare's surface is a 4xx in its envelope that names the field."""

from typing import Any

import pytest

from tests.support.envelope_shape import NAMESPACES, assert_failure, named_fields, result_of
from tests.support.service import Service

PROFILE = f"{NAMESPACES}/default/profiles/bot"
ID = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


@pytest.fixture
def service(shared_service: Service) -> Service:
    return shared_service


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("remember", {"content": ""}, 400, "/content"),
        ("remember", {"content": " \n"}, 400, "/content"),
        ("remember", {}, 400, "/content"),
        ("remember", {"content": ["x"]}, 400, "/content"),
        ("remember", {"content": "x" * 32769}, 413, "/content"),
        ("remember", {"content": "x", "sessionId": "s" * 65}, 400, "/sessionId"),
        ("remember", {"content": "x", "sessionId": "å" * 33}, 400, "/sessionId"),
        ("remember", {"content": "x", "sessionId": 5}, 400, "/sessionId"),
        ("recall", {}, 400, "/query"),
        ("recall", {"query": ""}, 400, "/query"),
        ("recall", {"query": "x" * 1025}, 400, "/query"),
        ("recall", {"query": "å" * 513}, 400, "/query"),
        ("recall", {"query": 5}, 400, "/query"),
        ("recall", {"query": "x", "thinkingLevel": "deep"}, 400, "/thinkingLevel"),
        ("recall", {"query": "x", "responseLength": "endless"}, 400, "/responseLength"),
        ("recall", {"query": "x", "referenceDate": "21/4/2026"}, 400, "/referenceDate"),
        ("recall", {"query": "x", "referenceDate": "2026-13-01"}, 400, "/referenceDate"),
        ("recall", {"query": "x", "referenceDate": 5}, 400, "/referenceDate"),
    ],
)
async def test_a_body_is_refused_by_the_name_of_its_field(
    service: Service, path: str, body: Any, status: int, field: str
) -> None:
    errors = assert_failure(await service.post(f"{PROFILE}/{path}", body), status, 1000 + status)
    assert named_fields(errors) == {field}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"per_page": "0"}, "/per_page"),
        ({"per_page": "1001"}, "/per_page"),
        ({"per_page": "ten"}, "/per_page"),
        ({"type": "opinion"}, "/type"),
        ({"session_id": "s" * 65}, "/session_id"),
        ({"session_id": ""}, "/session_id"),
    ],
)
async def test_a_query_is_refused_by_the_name_of_its_parameter(
    service: Service, query: dict[str, str], field: str
) -> None:
    answer = await service.client.get(f"{PROFILE}/memories", params=query, headers=service.credential(admin=True))
    assert named_fields(assert_failure(answer, 400, 1400)) == {field}


@pytest.mark.parametrize(
    ("path", "field"),
    [
        (f"{NAMESPACES}/My_App/profiles/bot", "/namespace_name"),
        (f"{NAMESPACES}/{'a' * 33}/profiles/bot", "/namespace_name"),
        (f"{NAMESPACES}/app/profiles/{'a' * 101}", "/profile_name"),
        (f"{NAMESPACES}/app/profiles/a%00b", "/profile_name"),
        (f"{NAMESPACES}/app/profiles/{'a' * 50}%2F{'a' * 50}", "/profile_name"),
        (f"{NAMESPACES.replace('accounts/', 'accounts/' + 'a' * 64)}/app/profiles/bot", "/account_id"),
    ],
)
async def test_a_name_in_a_path_is_refused_by_its_field(service: Service, path: str, field: str) -> None:
    for method, end in (("DELETE", ""), ("GET", "/memories"), ("POST", "/recall"), ("POST", "/ingest")):
        body = {"query": "x", "messages": [{"role": "user", "content": "x"}]} if method == "POST" else None
        headers = service.credential(admin=True)
        answer = await service.client.request(method, path + end, headers=headers, json=body)
        assert named_fields(assert_failure(answer, 400, 1400)) == {field}


async def test_an_id_of_another_form_or_another_profile_is_refused(service: Service) -> None:
    headers = service.credential(admin=True)
    for method in ("GET", "DELETE"):
        answer = await service.client.request(method, f"{PROFILE}/memories/not-an-id", headers=headers)
        assert named_fields(assert_failure(answer, 400, 1400)) == {"/memory_id"}
        assert_failure(await service.client.request(method, f"{PROFILE}/memories/{ID}", headers=headers), 404, 1003)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", NAMESPACES, "GET, POST"),
        ("PATCH", f"{NAMESPACES}/my-app", "DELETE, GET"),
        ("GET", PROFILE, "DELETE"),
        ("GET", f"{PROFILE}/recall", "POST"),
        ("POST", f"{PROFILE}/memories", "GET"),
        ("GET", f"{NAMESPACES}/my-app/profiles/a%2Fb", "DELETE"),
    ],
)
async def test_a_method_that_a_path_does_not_take_is_refused(
    service: Service, method: str, path: str, allowed: str
) -> None:
    answer = await service.client.request(method, path)
    assert_failure(answer, 405, 7001)
    assert answer.headers["allow"] == allowed


async def test_an_unknown_path_below_cloudflare_s_is_answered_in_its_envelope(service: Service) -> None:
    for path in ("/client/v4/zones", f"{NAMESPACES}/", f"{NAMESPACES}/a/b", f"{PROFILE}/summaries"):
        assert_failure(await service.client.get(path, headers=service.credential()), 404, 10003)


async def test_without_a_credential_there_is_nothing_but_a_refusal(service: Service) -> None:
    for method, path in (("GET", NAMESPACES), ("POST", f"{PROFILE}/recall"), ("DELETE", PROFILE)):
        answer = await service.client.request(method, path, headers={"Authorization": "Bearer nonsense"})
        assert_failure(answer, 401, 10000)
        assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_body_of_another_type_or_no_json_is_refused(service: Service) -> None:
    json = service.credential() | {"Content-Type": "application/json"}
    plain = service.credential() | {"Content-Type": "text/plain"}
    assert_failure(await service.client.post(f"{PROFILE}/recall", content="{", headers=json), 400, 1400)
    assert_failure(await service.client.post(f"{PROFILE}/recall", content="{}", headers=plain), 415, 1415)
    large = b'{"query": "' + b" " * 256 * 1024
    assert_failure(await service.client.post(f"{PROFILE}/recall", content=large, headers=json), 413, 1413)


async def test_nothing_was_written_by_any_of_it(service: Service) -> None:
    assert await service.recall("x") == []
    listing = await service.client.get(NAMESPACES, headers=service.credential(admin=True))
    assert result_of(listing) == []
