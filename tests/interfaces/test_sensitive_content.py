"""What should not be kept is in no file of the service after it was sent to every route and tool, wherever in it."""

import base64
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client.client import Client

from app.domain.author import Author
from app.interfaces.mcp.stdio import tools_of
from app.services.transfer.lines import memory_line, row_line
from app.services.transfer.record import Record
from app.storage.tiers.tables import TIER_TABLES
from tests.interfaces.http.test_learning import ended
from tests.interfaces.http.test_transfer import bring
from tests.services.believing_reader import BelievingReader
from tests.services.transfer.corpus import told
from tests.support.probes import CANARY, PROBES, SECRET
from tests.support.problem_shape import assert_problem
from tests.support.scripted_model import ScriptedModel, memory
from tests.support.secrets import CARD, TOKEN
from tests.support.service import serving
from tests.support.tier_rows import row_of

BYTES = ("POST /blobs", "POST /import")
"""Bodies that are no JSON: of blobs nothing is looked at, and lines of an import are tried below."""
IN_REFUSALS = {
    "POST /store  content",
    "POST /profiles/keeper/remember  content",
    "POST /profiles/keeper/ingest  messages.*.content",
    "POST /profiles/keeper/ingest  session_id",
    "POST /runs/*/episodes  episodes.*.content",
    "POST /runs/*/fail  error",
    "POST /runs/*/log  entries.*",
    "POST /runs/*/audit  calls.*.input",
    "POST /runs/*/audit  calls.*.output",
    "POST /facts  object",
    "PUT /working/keeper/worker-1/mine  value",
    "POST /working/keeper/worker-1/messages  messages.*.content",
    "PUT /workflows/mine  spec",
    "PUT /context/told  content",
    "PUT /configuration  values",
    "POST /mcp store_memory params.arguments.content",
    "POST /mcp remember params.arguments.text",
}
"""Fields of which at least each is refused."""
IDS = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


class Planting(httpx.AsyncBaseTransport):
    """Sends each new kind of request again with something planted, once in each of its texts and objects."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self._known: set[str] = set()
        self.answers: list[tuple[str, httpx.Response]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            body = json.loads(request.content)
        except ValueError:
            return await self._inner.handle_async_request(request)
        of_owner = b'"owner"' in base64.urlsafe_b64decode(request.headers["authorization"].split(".")[1] + "==")
        if request.method in {"POST", "PUT"} and isinstance(body, dict) and not of_owner:
            for place, changed in planted(body, body.get("params", {}).get("name", "") if "jsonrpc" in body else ""):
                kind = f"{request.method} {IDS.sub('*', request.url.path)} {place}"
                if kind not in self._known:
                    self._known.add(kind)
                    headers = {k: v for k, v in request.headers.items() if k != "content-length"}
                    again = httpx.Request(request.method, request.url, headers=headers, json=changed)
                    answer = await self._inner.handle_async_request(again)
                    await answer.aread()
                    self.answers.append((kind, answer))
        return await self._inner.handle_async_request(request)


def planted(body: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield a body once for each place in it: with a token at the end of a text, or a key and a number in an object."""
    for path in [*places(body)]:
        for number in range(2):
            changed = deepcopy(body)
            at = changed
            for step in path[:-1]:
                at = at[step]
            if path and isinstance(at[path[-1]], str):
                if number:
                    break
                at[path[-1]] += f" {TOKEN}"
            else:
                target = at[path[-1]] if path else changed
                target |= {"planted": int(CARD)} if number else {TOKEN: "x"}
            yield f"{prefix} {'.'.join('*' if isinstance(step, int) else step for step in path)} {number}", changed


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str):
        yield ()
    if isinstance(value, dict):
        yield ()
        yield from ((key, *rest) for key, item in value.items() for rest in places(item))
    if isinstance(value, list):
        yield from ((number, *rest) for number, item in enumerate(value) for rest in places(item))


def assert_nowhere(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert TOKEN.encode() not in data, file
            assert CARD.encode() not in data, file


@pytest.mark.thorough
@pytest.mark.parametrize("handling", ["refuse", "mask"])
async def test_no_route_and_no_tool_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], handling: str) -> None:
    async with serving(tmp_path, sensitive_content=handling) as service:
        planting = Planting(httpx.ASGITransport(service.app))
        async with httpx.AsyncClient(transport=planting, base_url="http://service") as client:
            probed = replace(service, client=client)
            await service.store(SECRET, tenant="owner", agent_id="keeper", metadata={"kind": "secret", "code": CANARY})
            for route, probe in PROBES.items():
                if route not in BYTES:
                    await probe(probed, "other", "keeper")
        taken = [
            (kind, answer) for kind, answer in planting.answers if answer.is_success and "jsonrpc" not in answer.text
        ]
        assert len(planting.answers) > 200
        for kind, answer in planting.answers:
            assert answer.status_code < 500, (kind, answer.text)
            if "sensitive_content" in answer.text:
                assert TOKEN not in answer.text, kind
                assert CARD not in answer.text, kind
        refused = [kind for kind, answer in planting.answers if "sensitive_content" in answer.text]
        marked = [kind for kind, answer in taken if "masked;" in answer.headers.get("sensitive-content", "")]
        assert not IN_REFUSALS.difference(kind.rsplit(maxsplit=1)[0] for kind in refused) or handling == "mask"
        assert bool(marked) == (handling == "mask")
    assert_nowhere(tmp_path)
    written = capsys.readouterr()
    assert TOKEN not in written.out + written.err
    assert CARD not in written.out + written.err


async def test_a_refusal_is_a_problem_of_its_own(tmp_path: Path) -> None:
    async with serving(tmp_path, sensitive_content="refuse") as service:
        body = {"agent_id": "bot", "content": "fine", "metadata": {"of": [f"x {TOKEN}"], "n": int(CARD)}}
        answer = await service.post("/store", body)
        problem = assert_problem(answer, 422, "sensitive_content")
        assert problem["errors"] == [
            {"field": "metadata.of.0", "message": "has a token, which is not kept"},
            {"field": "metadata.n", "message": "has a card number, which is not kept"},
        ]
        assert "Sensitive-Content" not in answer.headers or "refused" in answer.headers["Sensitive-Content"]
        assert await service.recall("fine") == []
        metrics = (await service.client.get("/metrics")).text
        assert 'memory_gateway_sensitive_content_total{handling="refuse",kind="token"} 1.0' in metrics


async def test_what_is_masked_is_told_recalled_and_the_same_request_again(tmp_path: Path) -> None:
    async with serving(tmp_path, sensitive_content="mask") as service:
        headers = service.credential() | {"Idempotency-Key": "once"}
        body = {"agent_id": "bot", "content": f"The deploy token is {TOKEN}", "metadata": {"card": int(CARD)}}
        first = await service.client.post("/store", json=body, headers=headers)
        again = await service.client.post("/store", json=body, headers=headers)
        assert (first.status_code, first.headers["sensitive-content"]) == (201, "masked;token=1, masked;card=1")
        assert again.json() == first.json()
        (entry,) = await service.recall("deploy token")
        assert (entry["content"], entry["metadata"]) == ("The deploy token is [token]", {"card": "[card]"})
        plain = await service.post("/store", {"agent_id": "bot", "content": "plain"})
        assert "sensitive-content" not in plain.headers


async def test_a_session_that_is_named_by_such_content_is_refused_and_not_taken_for_another(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "hello"}], "session_id": CARD}
    async with serving(tmp_path, sensitive_content="mask") as service:
        for path in ("/profiles/bot/ingest", "/profiles/bot/ingest?dry_run=true"):
            answer = await service.post(path, body)
            assert_problem(answer, 422, "sensitive_content")
            assert [error["field"] for error in answer.json()["errors"]] == ["session_id"]
        assert await service.recall("hello") == []


async def test_a_message_that_is_too_long_once_it_is_masked_is_refused_by_name_and_nothing_is_kept(
    tmp_path: Path,
) -> None:
    messages = [{"role": "user", "content": "hello"}, {"role": "user", "content": "a://b:c@d " * 3200}]
    paths = ("/profiles/bot/ingest", "/profiles/bot/ingest?dry_run=true", "/working/bot/i/messages")
    async with serving(tmp_path, sensitive_content="mask") as service:
        for path in paths:
            answer = await service.post(path, {"messages": messages})
            assert_problem(answer, 413, "content_too_large")
            assert [error["field"] for error in answer.json()["errors"]] == ["messages.1.content"]
        assert await service.recall("hello") == []


async def test_what_is_counted_is_kept_as_it_is(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        answer = await service.post("/store", {"agent_id": "bot", "content": f"It is {TOKEN}"})
        assert (answer.status_code, answer.headers["sensitive-content"]) == (201, "counted;token=1")
        assert await service.contents("It is") == [f"It is {TOKEN}"]
        fact = {"agent_id": "bot", "subject": "Ann", "predicate": "pays with", "object": CARD}
        assert (await service.post("/facts", fact)).headers["sensitive-content"] == "counted;card=1"


async def test_only_the_kinds_of_the_setting_are_found_and_none_where_it_is_off(tmp_path: Path) -> None:
    body = {"agent_id": "bot", "content": f"It is {TOKEN}"}
    for settings in ({"sensitive_content": "refuse", "sensitive_kinds": ["card"]}, {"sensitive_content": "off"}):
        async with serving(tmp_path, **settings) as service:
            answer = await service.post("/store", body)
            assert (answer.status_code, "sensitive-content" in answer.headers) == (201, False)


async def test_a_tool_tells_its_client_what_was_masked(tmp_path: Path) -> None:
    async with serving(tmp_path, sensitive_content="mask") as service:
        answer = await service.call("store_memory", {"content": f"It is {TOKEN}"})
        assert answer.json()["result"]["_meta"] == {"memory-gateway/sensitive_content": "masked;token=1"}
        assert "_meta" not in (await service.call("store_memory", {"content": "plain"})).json()["result"]


async def test_a_tool_server_of_one_process_tells_of_each_call_what_was_masked_in_it(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, sensitive_content="mask") as service,
        Client(tools_of(service.shards, "acme", "bot")) as client,
    ):
        told = [
            (await client.call_tool("store_memory", {"content": content})).meta
            for content in (f"It is {TOKEN}", "plain", f"Again {TOKEN}")
        ]
    assert [(meta or {}).get("memory-gateway/sensitive_content") for meta in told] == [
        "masked;token=1",
        None,
        "masked;token=1",
    ]


def lines(content: str) -> bytes:
    """Return lines of an import: a memory, with its vector, and a row of each table of the tiers that has JSON."""
    record = Record(content, {"of": content}, agent_id="bot", id="01K2Z4M1V7Q8T3B5N6C7D8E9FA", created_at=1)
    rows = [row_line(tier, row_of(tier, 1)) for tier in TIER_TABLES if tier.kind in {"tool_calls", "working_keys"}]
    with_it = [row_line(line.table, {**line.row, line.table.json[0]: json.dumps(int(CARD))}) for line in rows]
    return b"".join(line.data for line in [memory_line(record), *with_it])


async def test_of_an_import_lines_are_rejected_or_masked_one_by_one(tmp_path: Path) -> None:
    async with serving(tmp_path / "refuse", sensitive_content="refuse") as service:
        *lines_told, summary = told([(await bring(service, lines(f"It is {TOKEN}"))).content])
        assert (summary["imported"], summary["rejected"]) == (0, len(lines_told))
        assert "has a token, which is not kept" in lines_told[0]["detail"]
    async with serving(tmp_path / "mask", sensitive_content="mask") as service:
        answer = await bring(service, lines(f"It is {TOKEN}"))
        *lines_told, summary = told([answer.content])
        assert summary["imported"] > 0, answer.text
        assert await service.contents("It is") == ["It is [token]"]
        again = told([(await bring(service, lines(f"It is {TOKEN}"))).content])[-1]
        assert (again["imported"], again["unchanged"]) == (0, summary["imported"])
    assert_nowhere(tmp_path)


async def test_a_model_is_shown_labels_and_what_it_says_itself_is_masked(tmp_path: Path) -> None:
    model = ScriptedModel()
    model.answers = {"extract": lambda _: {"memories": [memory(f"The user pays with {CARD}", 1)]}}
    async with serving(tmp_path, sensitive_content="refuse") as service:
        service.runtime.backends = replace(service.runtime.backends, model=model, reader=BelievingReader())
        refused = {"messages": [{"role": "user", "content": f"I pay with {CARD}"}]}
        assert_problem(await service.post("/profiles/bot/ingest", refused), 422, "sensitive_content")
        assert not model.asked
        body = {"messages": [{"role": "user", "content": "I pay with a card"}]}
        operation = (await service.post("/profiles/bot/ingest", body)).json()["operation_id"]
        await ended(service, operation)
        assert model.asked
    assert_nowhere(tmp_path)


async def test_a_correction_is_masked_and_made_once(tmp_path: Path) -> None:
    async with serving(tmp_path, sensitive_content="mask") as service:
        await service.store("The token is old")
        (entry,) = await service.recall("The token is old")
        corrections = service.runtime.services("acme", Author()).corrections
        made = [
            await corrections.correct("bot", entry["id"], f"The token is {TOKEN}", service.runtime.backends.clock())
            for _ in range(2)
        ]
        assert made[0] == made[1]
        assert await service.contents("The token is") == ["The token is [token]"]
    assert_nowhere(tmp_path)


@pytest.mark.parametrize("handling", ["mask", "refuse", "count"])
async def test_a_key_that_an_administrator_names_in_place_of_an_id_stands_in_no_row_of_acts(
    tmp_path: Path, handling: str
) -> None:
    async with serving(tmp_path, sensitive_content=handling) as service:
        body = {"credential_id": TOKEN, "dry_run": True}
        assert (await service.post("/undo", body, admin=True)).status_code == 200
        (act,) = (await service.client.get("/audit/acts", headers=service.credential(admin=True))).json()["acts"]
        assert act["subject"] == {"credential_id": TOKEN if handling == "count" else None}
    if handling != "count":
        assert_nowhere(tmp_path)
