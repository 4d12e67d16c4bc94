"""Requests that are answered without FastAPI's layers are answered as with them, errors and headers included."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from app.interfaces.http import problems
from app.interfaces.http.direct import DirectRoutes
from app.interfaces.http.middleware import BODY_BYTES, RequestContext
from tests.support.service import Service, serving

JSON = {"Content-Type": "application/json"}
QUESTION = {"agent_id": "bot", "query": "Which tea does Ann drink?"}
PROFILE = "/profiles/bot/recall"
OF_ITS_TIME = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}|\d{4}-\d\d-\d\dT[\d:.]+Z")
"""Ids and moments, which two services do not share."""
_FLOAT = re.compile(r"\d+\.\d+(?:e-\d+)?")
"""Of a score two services may have other last digits, and by chance fewer: 0.3 and 0.30000000000000004."""


@dataclass(frozen=True)
class Sent:
    """A request to compare the answers to."""

    content: bytes | dict[str, Any] = b""
    path: str = "/recall"
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = tuple(JSON.items())
    agent: str | None = None
    admin: bool = False
    anonymous: bool = False
    scopes: tuple[Any, ...] = ("read", "write")

    def to(self, client: httpx.AsyncClient, service: Service) -> httpx.Request:
        credential = service.credential(agent=self.agent, admin=self.admin, scopes=self.scopes)
        content = self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()
        headers = [*self.headers, ("X-Request-Id", "one"), *(() if self.anonymous else credential.items())]
        return client.build_request(self.method, self.path, content=content, headers=headers)


REQUESTS = {
    "a recall": Sent(QUESTION),
    "a recall of an unknown agent": Sent({**QUESTION, "agent_id": "nobody"}),
    "a recall by its version": Sent(QUESTION, "/v1/recall"),
    "a recall with all options": Sent(
        {**QUESTION, "top_k": 3, "explain": True, "group_by": "session", "filter": {"metadata": {"n": 1}}}
    ),
    "an old name": Sent({**QUESTION, "reference_date": "2026-01-01T00:00:00Z"}),
    "a question of a profile": Sent({"query": "Which tea does Ann drink?"}, PROFILE),
    "a profile whose name is none": Sent({"query": "tea"}, "/profiles/b%20t/recall"),
    "a store": Sent({"agent_id": "bot", "content": "Ben drinks coffee."}, "/store"),
    "a store with a key": Sent(
        {"agent_id": "bot", "content": "Ben drinks beer."}, "/store", headers=(*JSON.items(), ("Idempotency-Key", "k"))
    ),
    "a fact": Sent({"agent_id": "bot", "subject": "Ann", "predicate": "drinks", "object": "tea"}, "/facts"),
    "facts": Sent(QUESTION, "/facts/recall"),
    "no body": Sent(),
    "no JSON": Sent(b'{"agent_id": '),
    "JSON in another encoding": Sent(json.dumps(QUESTION).encode("utf-16")),
    "bytes that are no text": Sent(b'{"agent_id": "\xff"}'),
    "JSON that is too deep": Sent(b"[" * 100_000),
    "a list": Sent(b"[]"),
    "null": Sent(b"null"),
    "a body that is too large": Sent(b'{"query": "' + b"a" * BODY_BYTES + b'"}'),
    "no media type": Sent(QUESTION, headers=()),
    "another media type": Sent(QUESTION, headers=(("Content-Type", "text/plain"),)),
    "no JSON of another media type": Sent(b"{", headers=(("Content-Type", "text/plain"),)),
    "a media type like JSON's": Sent(QUESTION, headers=(("Content-Type", "application/problem+json"),)),
    "no JSON of a media type like JSON's": Sent(b"{", headers=(("Content-Type", "application/problem+json"),)),
    "a media type with a parameter": Sent(QUESTION, headers=(("Content-Type", "Application/JSON ; charset=utf-8"),)),
    "fields that are missing, unknown and wrong": Sent({"agent_id": 5, "top_k": "many", "colour": "red"}),
    "fields outside their bounds": Sent({"agent_id": "a b", "query": " ", "top_k": 0}),
    "an empty object": Sent({}),
    "a query parameter": Sent(QUESTION, "/recall?a=1"),
    "a query parameter twice": Sent(QUESTION, "/recall?a=1&a=2"),
    "no credential": Sent(QUESTION, anonymous=True),
    "no credential and no JSON": Sent(b"{", anonymous=True),
    "a credential that may only write": Sent(QUESTION, scopes=("write",)),
    "a credential for another agent": Sent(QUESTION, agent="other"),
    "a deletion by a filter": Sent({"agent_id": "bot", "metadata": {"n": 1}}, "/deletions", admin=True),
    "an administrator's act without the scope": Sent({"agent_id": "bot", "metadata": {"n": 1}}, "/deletions"),
    "a change of no memory": Sent({"metadata": {"a": 1}}, "/memories/x?agent_id=bot", "PATCH", admin=True),
    "a method that the path has not": Sent(QUESTION, method="PUT"),
    "a path that is none": Sent(QUESTION, "/recal"),
    "a path with a slash behind it": Sent(QUESTION, "/recall/"),
    "a listing": Sent(b"", "/memories?agent_id=bot", "GET", admin=True, headers=()),
}


@pytest.fixture(scope="module")
async def services(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Service, Service]]:
    """Two services with the same memories: one as it is, and one whose requests all go through FastAPI's layers."""
    async with serving(_folder(tmp_path_factory)) as direct, serving(_folder(tmp_path_factory)) as layered:
        for service in (direct, layered):
            await service.store("Ann drinks green tea.", metadata={"n": 1}, session_id="s")
        yield direct, layered


def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def layered_app(service: Service) -> FastAPI:
    """Return FastAPI's own application over the same routes."""
    app = FastAPI(docs_url=None, openapi_url=None, redoc_url=None, redirect_slashes=False)
    app.state.shards = service.shards
    app.add_middleware(RequestContext)
    problems.install(app)
    app.router.routes.extend(service.app.routes)
    return app


async def answer(app: FastAPI, service: Service, sent: Sent) -> tuple[int, list[tuple[str, str]], str]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
        answered = await client.send(sent.to(client, service))
    await service.delivered()
    headers = [each for each in answered.headers.multi_items() if each[0] != "content-length"]
    assert answered.headers.get("content-length") == str(len(answered.content))
    return answered.status_code, headers, comparable(answered.text)


def comparable(text: str) -> str:
    """Return an answer without what two services do not share."""
    return _FLOAT.sub(lambda score: f"{float(score[0]):.5f}", OF_ITS_TIME.sub("", text))


@pytest.mark.parametrize("other", ["0.30000000000000004", "0.3000001", "0.29999999999999999"])
def test_scores_are_compared_without_their_last_digits_however_many_they_have(other: str) -> None:
    assert comparable(f'{{"score":{other}}}') == comparable('{"score":0.3}') != comparable('{"score":0.301}')


@pytest.mark.parametrize("sent", REQUESTS.values(), ids=REQUESTS.keys())
async def test_an_answer_is_the_same_as_through_all_layers(services: tuple[Service, Service], sent: Sent) -> None:
    direct, layered = services
    expected = await answer(layered_app(layered), layered, sent)
    assert await answer(direct.app, direct, sent) == expected


async def test_what_costs_most_calls_is_direct(services: tuple[Service, Service]) -> None:
    service, _ = services
    find = DirectRoutes(service.app.routes).find
    for path in ("/store", "/recall", "/profiles/bot/recall", "/facts/recall", "/context/assemble"):
        assert find({"type": "http", "method": "POST", "path": path, "headers": []}) is not None, path
    assert find({"type": "http", "method": "PUT", "path": "/recall", "headers": []}) is None


async def test_a_request_names_the_route_that_is_declared(services: tuple[Service, Service]) -> None:
    service, _ = services
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/profiles/a/recall", "headers": []}
    DirectRoutes(service.app.routes).find(scope)
    assert isinstance(scope["route"], APIRoute)
    assert (scope["route"].path, scope["path_params"]) == ("/profiles/{profile}/recall", {"profile": "a"})
