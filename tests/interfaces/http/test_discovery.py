"""What the service tells of itself to whoever asks: llms.txt and the metadata of the protected resource."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.interfaces.asgi import create_app
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import SECRETS, Service

MEDIA_TYPES = {
    "/llms.txt": "text/plain; charset=utf-8",
    "/.well-known/oauth-protected-resource": "application/json",
    "/.well-known/oauth-protected-resource/mcp": "application/json",
}

every_document = pytest.mark.parametrize("path", MEDIA_TYPES)


def links(value: Any) -> Iterator[str]:
    """Every URL in a document of JSON, but for the name of what is described."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name != "resource":
                yield from links(each)
    elif isinstance(value, list):
        for each in value:
            yield from links(each)
    elif isinstance(value, str) and value.startswith("http"):
        yield value


async def links_of(client: httpx.AsyncClient, path: str) -> set[str]:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return set(re.findall(r"\]\((\S+)\)", answer.text) if path == "/llms.txt" else links(answer.json()))


@every_document
async def test_it_is_told_without_a_credential(service: Service, path: str) -> None:
    answer = await service.client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, MEDIA_TYPES[path])


@every_document
async def test_it_is_the_same_for_everyone_and_holds_no_secret(service: Service, path: str) -> None:
    await service.store("the launch code is Xq0451z", tenant="owner", agent_id="keeper")
    without = await service.client.get(path)
    for headers in (
        service.credential("owner", admin=True),
        service.credential("other"),
        {"Authorization": "Bearer x"},
    ):
        assert (await service.client.get(path, headers=headers)).content == without.content
    told = f"{without.headers}{without.text}"
    for secret in (*SECRETS.values(), "Xq0451z", "owner", "keeper", "eyJ", str(service.runtime.name)):
        assert secret not in told


@every_document
async def test_head_tells_the_same_headers_and_no_content(service: Service, path: str) -> None:
    got, head = await service.client.get(path), await service.client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-type", "content-length", "etag", "cache-control"):
        assert head.headers[name] == got.headers[name]


@every_document
async def test_a_page_of_any_origin_may_read_it(service: Service, path: str) -> None:
    preflight = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
    asked = await service.client.options(path, headers=preflight)
    assert (asked.status_code, asked.content) == (204, b"")
    for answer in (asked, await service.client.get(path)):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-allow-methods"] == "GET"
        assert answer.headers["access-control-allow-headers"] == "Content-Type, If-None-Match"
        assert answer.headers["access-control-expose-headers"] == "ETag"


@every_document
async def test_what_the_caller_has_is_not_sent_again(service: Service, path: str) -> None:
    first = await service.client.get(path)
    etag = first.headers["etag"]
    assert first.headers["cache-control"] == "public, max-age=3600"
    for known in (etag, f'"another", W/{etag}', "*"):
        again = await service.client.get(path, headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert (await service.client.get(path, headers={"If-None-Match": '"another"'})).content == first.content


@every_document
async def test_it_is_only_read(service: Service, path: str) -> None:
    answer = await service.client.post(path, json={})
    assert_problem(answer, 405, "method_not_allowed")


@pytest.fixture
def service(shared_service: Service) -> Service:
    return shared_service


@pytest.mark.parametrize(
    "path", ["/.well-known", "/.well-known/", "/.well-known/openid-configuration", "/.well-known/api-catalog"]
)
async def test_a_well_known_document_that_is_not_there_is_no_such_path(service: Service, path: str) -> None:
    assert_problem(await service.client.get(path), 404, "no_such_path")


@every_document
async def test_every_link_leads_to_something_the_service_answers(service: Service, path: str) -> None:
    found = await links_of(service.client, path)
    assert found
    for url in found:
        assert url.startswith("http://service/"), url
        status = (await service.client.get(url)).status_code
        assert status in {200, 401, 405, 406}, url


@every_document
async def test_every_link_keeps_the_host_and_the_path_the_service_is_asked_under(service: Service, path: str) -> None:
    transport = httpx.ASGITransport(create_app(service.shards), root_path="/memory")
    async with httpx.AsyncClient(transport=transport, base_url="https://host.example:8443/memory") as client:
        for url in await links_of(client, path):
            assert url.startswith("https://host.example:8443/memory/"), url
        told = (await client.get(path)).text
        assert "https://host.example:8443/memory" in told
        assert "//service" not in told


async def test_behind_a_proxy_that_is_trusted_links_have_the_scheme_it_was_asked_by(service: Service) -> None:
    app = ProxyHeadersMiddleware(create_app(service.shards), trusted_hosts="127.0.0.1")  # type: ignore[arg-type]
    for client_host, scheme in (("127.0.0.1", "https"), ("192.0.2.1", "http")):
        transport = httpx.ASGITransport(app, client=(client_host, 1))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://host.example") as client:
            path = "/.well-known/oauth-protected-resource/mcp"
            answer = await client.get(path, headers={"X-Forwarded-Proto": "https"})
            assert answer.json()["resource"] == f"{scheme}://host.example/mcp"


@every_document
@pytest.mark.parametrize(
    "host", ["a$(reboot)", "a;b", "a'b", "user@a", "a/b", "a b", "a:99999", "a:b", "..", "[x]", "[:::]", ""]
)
async def test_a_host_that_is_none_is_not_repeated(service: Service, path: str, host: str) -> None:
    answer = await service.client.get(path, headers={"Host": host})
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"Host"}


async def test_llms_txt_has_a_title_a_summary_and_then_lists_of_links(service: Service) -> None:
    lines = (await service.client.get("/llms.txt")).text.splitlines()
    assert lines[0] == "# Memory Gateway"
    assert lines[2].startswith("> ")
    headings = [line for line in lines if line.startswith("#")]
    assert headings == ["# Memory Gateway", "## API", "## Tools", "## Optional"]
    for line in lines[lines.index("## API") :]:
        assert not line or line.startswith("## ") or re.fullmatch(r"- \[[^\]]+\]\(\S+\)(: .+)?", line), line
    tools = [line for line in lines if "/tools?" in line]
    formats = re.findall(r"/tools\?format=([\w-]+)\)", "\n".join(tools))
    assert formats == ["openai", "openai-responses", "anthropic", "mcp", "json-schema"]


async def test_the_commands_of_llms_txt_store_and_recall(service: Service) -> None:
    commands = re.findall(r"^curl .*$", (await service.client.get("/llms.txt")).text, re.MULTILINE)
    answers = []
    for command in commands:
        program, flags, url, *rest = shlex.split(command)
        options = list(zip(rest[::2], rest[1::2], strict=True))
        headers = dict(value.split(": ") for option, value in options if option == "-H")
        assert (program, flags, headers.pop("Authorization")) == ("curl", "-sS", "Bearer $TOKEN")
        (body,) = [value for option, value in options if option == "-d"]
        answers.append(await service.client.post(url, content=body, headers={**headers, **service.credential()}))
    assert [answer.status_code for answer in answers] == [201, 200]
    assert [entry["content"] for entry in answers[1].json()["entries"]] == ["The customer prefers invoices in Swedish"]


@pytest.mark.parametrize("path", ["", "/mcp"])
async def test_a_protected_resource_says_how_to_show_a_credential_and_names_no_server_that_gives_one(
    service: Service, path: str
) -> None:
    answer = await service.client.get(f"/.well-known/oauth-protected-resource{path}")
    assert answer.json() == {
        "resource": f"http://service{path}",
        "scopes_supported": ["memory", "memory:read", "memory:write", "admin"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Memory Gateway",
        "resource_documentation": "http://service/llms.txt",
    }
