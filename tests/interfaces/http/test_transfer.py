"""Export and import over HTTP: who may, in which shape, and what becomes of an answer that cannot be finished."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from app.domain.errors import DatabaseUnavailable
from app.interfaces.asgi import create_app
from app.services.transfer.record import Record
from app.storage.system.leases import INDEXER
from app.storage.tiers import rows as tier_rows
from tests.services.transfer.corpus import file_of, numbered, told
from tests.support.doubles import FailingDatabase
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving
from tests.support.tables import delete_rows

NDJSON = {"Content-Type": "application/x-ndjson"}


async def bring(service: Service, data: bytes, **credential: Any) -> httpx.Response:
    headers = service.credential(**({"admin": True} | credential)) | NDJSON
    return await service.client.post("/import", content=data, headers=headers)


async def fetch(service: Service, params: dict[str, str] | None = None, **credential: Any) -> httpx.Response:
    headers = service.credential(**({"admin": True} | credential))
    return await service.client.get("/export", params=params, headers=headers)


async def test_what_one_service_gives_out_another_takes_in(any_service: Service) -> None:
    data = file_of([*numbered(3), *numbered(2, start=9, agent_id="other")])
    answer = await bring(any_service, data)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    *lines, summary = told([answer.content])
    assert lines == [
        {"line": n + 2, "id": json.loads(line)["id"], "status": "imported"}
        for n, line in enumerate(data.splitlines()[1:-1])
    ]
    assert summary == {
        "type": "summary",
        "lines": 7,
        "imported": 5,
        "unchanged": 0,
        "duplicate": 0,
        "conflict": 0,
        "rejected": 0,
        "manifest": True,
        "end": "holds",
    }
    answer = await fetch(any_service)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    assert answer.content.splitlines()[1:] == data.splitlines()[1:]
    assert "memory 2" in await any_service.contents("memory 2")


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("*/*", "application/x-ndjson"),
        ("application/octet-stream, application/x-ndjson", "application/x-ndjson"),
        ("application/octet-stream, application/problem+json", "application/octet-stream"),
    ],
)
async def test_lines_are_taken_and_given_as_bytes_too(service: Service, accept: str, media_type: str) -> None:
    headers = service.credential(admin=True) | {"Content-Type": "application/octet-stream", "Accept": accept}
    answer = await service.client.post("/import", content=file_of(numbered(1)), headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
    assert told([answer.content])[-1]["imported"] == 1
    answer = await service.client.get("/export", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)


async def test_only_an_administrator_may(any_service: Service) -> None:
    assert_problem(await fetch(any_service, admin=False), 403, "forbidden")
    assert_problem(await bring(any_service, b"", admin=False), 403, "forbidden")
    assert_problem(await any_service.client.get("/export"), 401, "unauthenticated")
    assert_problem(await any_service.client.post("/import", headers=NDJSON), 401, "unauthenticated")


async def test_a_credential_for_one_agent_reaches_no_other(any_service: Service) -> None:
    await bring(any_service, file_of([*numbered(2), *numbered(2, start=9, agent_id="other")]))
    answer = await fetch(any_service, agent="bot")
    manifest, *memories, _ = map(json.loads, answer.text.splitlines())
    assert (manifest["agent_id"], {memory["agent_id"] for memory in memories}) == ("bot", {"bot"})
    assert (await fetch(any_service, {"agent_id": "bot"}, agent="bot")).content == answer.content
    assert_problem(await fetch(any_service, {"agent_id": "other"}, agent="bot"), 403, "forbidden")
    new = file_of([*numbered(1, start=20), *numbered(1, start=30, agent_id="other")])
    *lines, _ = told([(await bring(any_service, new, agent="bot")).content])
    assert [line["status"] for line in lines] == ["imported", "rejected"]


@pytest.mark.parametrize(
    ("params", "field"),
    [({"agent_id": "a b"}, "agent_id"), ({"vectors": "maybe"}, "vectors"), ({"tenant": "other"}, "tenant")],
)
async def test_what_an_export_does_not_take_is_refused(
    shared_service: Service, params: dict[str, str], field: str
) -> None:
    problem = assert_problem(await fetch(shared_service, params), 422, "invalid_request")
    assert problem["errors"][0]["field"] == field


async def test_an_import_takes_lines_and_no_parameters(service: Service) -> None:
    headers = service.credential(admin=True)
    assert_problem(await service.client.post("/import", json={}, headers=headers), 415, "unsupported_media_type")
    answer = await service.client.post("/import", params={"tenant": "x"}, headers=headers | NDJSON)
    assert_problem(answer, 422, "invalid_request")


async def test_a_body_larger_than_any_other_route_takes_is_imported(any_service: Service) -> None:
    records = [
        Record(
            agent_id="bot",
            content=f"{n} " + "x" * 30_000,
            metadata={},
            id=f"01K{n:023d}",
            created_at=1_700_000_000_000 + n,
        )
        for n in range(60)
    ]
    data = file_of(records)
    assert len(data) > 1_700_000
    assert told([(await bring(any_service, data)).content])[-1]["imported"] == 60
    assert (await fetch(any_service)).content.splitlines()[1:] == data.splitlines()[1:]
    oversized = {"agent_id": "bot", "content": "x" * 2_000_000}
    assert_problem(await any_service.post("/store", oversized), 413, "content_too_large")


async def test_while_the_tenant_is_erased_nothing_is_imported(any_service: Service) -> None:
    await any_service.store("text")
    await delete_rows(any_service, "lease", name=INDEXER.name)
    await any_service.runtime.backends.database.run([INDEXER.hold("another")])  # so that it stays under way
    await any_service.runtime.services("acme").gateway.erase(None)
    assert_problem(await bring(any_service, file_of(numbered(1))), 409, "erasing")


async def test_an_outage_is_an_error_before_the_first_line_and_a_broken_connection_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tier_rows, "PAGE_ROWS", 5)
    async with serving(tmp_path) as service:
        await bring(service, file_of(numbered(40)))
        database = FailingDatabase(service.runtime.backends.database)
        service.runtime.backends = replace(service.runtime.backends, database=database)
        database.error = DatabaseUnavailable("away")
        assert_problem(await fetch(service), 503, "database_unavailable")
        database.error = None
        server = uvicorn.Server(uvicorn.Config(create_app(service.shards), port=0, log_config=None, lifespan="off"))
        running = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        run = database.run

        async def fails_at_the_fourth_page(statements: Any) -> Any:
            if len(database.runs) == 4:
                database.error = DatabaseUnavailable("away")
            return await run(statements)

        database.runs.clear()
        monkeypatch.setattr(database, "run", fails_at_the_fourth_page)
        seen = b""

        async def read() -> None:
            nonlocal seen
            async with (
                httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
                client.stream("GET", "/export", headers=service.credential(admin=True)) as answer,
            ):
                async for chunk in answer.aiter_raw():
                    seen += chunk

        with pytest.raises(httpx.RemoteProtocolError):
            await read()
        assert b'"type":"manifest"' in seen
        assert b'"type":"end"' not in seen
        server.should_exit = True
        await running
