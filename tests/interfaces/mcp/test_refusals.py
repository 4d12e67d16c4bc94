"""Whoever is not let in, and whatever is no message, is answered in the protocol's form and never with a defect."""

import json
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from app.interfaces.http.middleware import BODY_BYTES
from tests.interfaces.mcp.connections import MODERN, OF_MODES, over_http
from tests.support.service import NOW, SECRETS, Service, serving
from tests.support.tokens import CLAIMS, sign


def signed(claims: dict[str, object], secret: str = SECRETS["test"], algorithm: str = "HS256") -> str:
    return sign(CLAIMS | claims, secret, algorithm=algorithm)


STRANGERS = {
    "absent": ("", 401, "unauthenticated"),
    "not a token": ("Bearer x", 401, "unauthenticated"),
    "another scheme": ("Basic YTpi", 401, "unauthenticated"),
    "expired": (f"Bearer {signed({'exp': NOW // 1000 - 10**9})}", 401, "unauthenticated"),
    "unsigned": (f"Bearer {signed({}, '', 'none')}", 401, "unauthenticated"),
    "signed otherwise": (f"Bearer {signed({}, 'x' * 32)}", 401, "unauthenticated"),
    "of no tenant": (f"Bearer {signed({'tenant': ''})}", 401, "unauthenticated"),
    "of another scope": (f"Bearer {signed({'scope': 'admin'})}", 403, "forbidden"),
}
LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """One for all tests here: none of them stores anything, as each says in its end."""
    async with serving(tmp_path_factory.mktemp("refusals")) as service:
        yield service


@pytest.fixture(params=OF_MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["2025-11-25", MODERN])
def headers(request: pytest.FixtureRequest, service: Service) -> dict[str, str]:
    """Of a message in each version of the protocol, with a credential that holds."""
    return service.credential(agent="bot") | {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": request.param,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "store_memory",
    }


def call(arguments: Any, **envelope: Any) -> dict[str, Any]:
    params = {"name": "store_memory", "arguments": arguments, "_meta": ENVELOPE}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params} | envelope


@pytest.mark.parametrize("why", STRANGERS)
async def test_who_is_not_let_in_is_told_so(service: Service, headers: dict[str, str], why: str) -> None:
    authorization, status, code = STRANGERS[why]
    answer = await service.client.post("/mcp", json=LIST, headers=headers | {"Authorization": authorization})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (answer.json()["jsonrpc"], answer.json()["id"]) == ("2.0", None)
    error = answer.json()["error"]
    assert (error["code"], error["data"]) == (types.INVALID_REQUEST, {"code": code})
    assert "sk the operator" in error["message"]


@pytest.mark.parametrize("why", STRANGERS)
async def test_the_protocols_client_shows_why_it_is_not_let_in(service: Service, mode: str, why: str) -> None:
    authorization, _, code = STRANGERS[why]
    refusal = pytest.RaisesExc(MCPError, match="sk the operator", check=lambda error: error.data == {"code": code})
    with pytest.RaisesGroup(refusal, allow_unwrapped=True, flatten_subgroups=True):
        async with over_http(service, {"Authorization": authorization}, mode) as client:
            await client.list_tools()


async def test_a_web_page_is_refused(service: Service, headers: dict[str, str]) -> None:
    for origin in ("https://example.com", "http://127.0.0.1:8000", "null", ""):
        answer = await service.client.post("/mcp", json=LIST, headers=headers | {"Origin": origin})
        assert (answer.status_code, answer.json()["error"]["data"]) == (403, {"code": "forbidden"})


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT", "PATCH", "OPTIONS"])
async def test_nothing_but_post_is_allowed(service: Service, headers: dict[str, str], method: str) -> None:
    answer = await service.client.request(method, "/mcp", headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_a_body_over_the_limit_is_refused_whether_its_length_is_announced_or_not(
    service: Service, headers: dict[str, str]
) -> None:
    async def unannounced() -> AsyncIterator[bytes]:
        for _ in range(BODY_BYTES // 65536 + 1):
            yield b" " * 65536

    for body in (json.dumps(call({"content": "x" * BODY_BYTES})), unannounced()):
        answer = await service.client.post("/mcp", content=body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (413, "application/json")
        error = answer.json()["error"]
        assert (error["code"], error["data"]) == (types.INVALID_REQUEST, {"code": "content_too_large"})
        assert str(BODY_BYTES) in error["message"]


NO_MESSAGES = {
    "nothing": b"",
    "broken": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"na',
    "not JSON": b"\xff\xfe",
    "text": b'"tools/list"',
    "a number": b"5",
    "null": b"null",
    "a batch": json.dumps([call({"content": "x"})]).encode(),
    "an empty batch": b"[]",
    "no version": json.dumps(call({"content": "x"}, jsonrpc="1.0")).encode(),
    "a surrogate in a text that is cut off": b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800',
    "deep": b"[" * 100_000,
    "a number without end": b'{"jsonrpc": "2.0", "id": ' + b"9" * 5000 + b', "method": "tools/list"}',
}


@pytest.mark.parametrize("what", NO_MESSAGES)
async def test_what_is_no_message_is_an_error_of_the_protocol(
    service: Service, headers: dict[str, str], what: str
) -> None:
    answer = await service.client.post("/mcp", content=NO_MESSAGES[what], headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {types.PARSE_ERROR, types.INVALID_REQUEST, types.INVALID_PARAMS}
    assert "Traceback" not in answer.text
    assert await service.contents("x") == []


@pytest.mark.parametrize("id_", [None, {"a": 1}, [1], 1.5])
async def test_a_call_whose_id_cannot_be_answered_does_nothing(
    service: Service, headers: dict[str, str], id_: Any
) -> None:
    answer = await service.client.post("/mcp", json=call({"content": "x"}, id=id_), headers=headers)
    assert answer.status_code in {202, 400}  # the handshake's version takes it for a notification
    assert await service.contents("x") == []


@pytest.mark.parametrize(
    "message",
    [
        call(["x"]),
        call("x"),
        call({"content": "x"}, params=[]),
        call({"content": "x"}, params={"_meta": ENVELOPE}),
        call({"content": "x"}, params={"name": 5, "arguments": {"content": "x"}, "_meta": ENVELOPE}),
        call({"content": "x"}, method="memory/forget"),
        call({"content": "x"}, method="prompts/list"),
        call({"content": "x"}, method=""),
    ],
)
async def test_a_message_that_means_nothing_here_is_an_error_of_the_protocol(
    service: Service, headers: dict[str, str], message: dict[str, Any]
) -> None:
    headers |= {"Mcp-Method": message["method"]}
    answer = await service.client.post("/mcp", json=message, headers=headers)
    assert answer.status_code in {200, 400, 404}
    assert "error" in answer.json()
    assert answer.json()["error"]["code"] != types.INTERNAL_ERROR
    assert await service.contents("x") == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "\ud800"},
        {"content": "x", "\ud800": 1},
        {"content": "x", "metadata": {"\ud800": 1}},
        {"content": "x", "metadata": {"k": float("nan")}},
        {"content": "x", "metadata": {"k": 10**4000}},
        {"content": "x", "metadata": {"k": json.loads("[" * 100 + "]" * 100)}},
        {"content": "x", "": 1, "\0": 1},
    ],
)
async def test_arguments_that_no_model_would_send_are_refused(
    service: Service, headers: dict[str, str], arguments: dict[str, Any]
) -> None:
    answer = await service.client.post("/mcp", content=json.dumps(call(arguments)), headers=headers)
    told = answer.json()
    assert told.get("error", {}).get("code") == types.PARSE_ERROR or told["result"]["isError"]
    assert await service.contents("x") == []


async def test_a_notification_is_taken_without_an_answer(service: Service, headers: dict[str, str]) -> None:
    for method in ("notifications/initialized", "notifications/cancelled", "notifications/unheard-of"):
        message = {"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}
        answer = await service.client.post("/mcp", json=message, headers=headers)
        assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Content-Type", "text/plain", 400),
        ("Content-Type", "multipart/form-data; boundary=x", 400),
        ("Accept", "text/html", 406),
        ("MCP-Protocol-Version", "1999-01-01", 400),
        ("MCP-Protocol-Version", "\x00", 400),
    ],
)
async def test_headers_of_something_else_are_refused(
    service: Service, headers: dict[str, str], header: str, value: str, status: int
) -> None:
    message = call({"content": "x"})
    message["params"]["_meta"] = {"io.modelcontextprotocol/protocolVersion": value}
    answer = await service.client.post("/mcp", json=message, headers=headers | {header: value})
    assert answer.status_code == status
    assert await service.contents("x") == []
