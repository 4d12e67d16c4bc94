"""What the log says, and what it never says."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from app.observability.logs import LogFormat, configure_logging
from tests.support.service import serving

CONTENT = "the content that must stay out"


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers, root.level = handlers, level


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


async def test_a_request_is_one_line_with_its_id_tenant_route_status_and_duration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging("json", "info")
    async with serving(tmp_path) as service:
        capsys.readouterr()
        await service.store("text")
        await service.delete("01K2Z4M1V7Q8T3B5N6C7D8E9FA")
        await service.client.get("/nowhere")
    store, delete, nowhere = [e for e in events(capsys.readouterr().err) if e["event"] == "request"]
    assert {"request_id", "tenant", "route", "status", "duration_ms", "method", "level", "timestamp"} <= set(store)
    assert (store["tenant"], store["route"], store["status"]) == ("acme", "/store", 201)
    assert (delete["route"], delete["status"]) == ("/memories/{memory_id}", 204)
    assert ("tenant" not in nowhere, nowhere["status"]) == (True, 404)


async def test_neither_content_nor_a_credential_is_ever_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging("json", "debug")
    async with serving(tmp_path) as service:
        credential = service.credential()["Authorization"].removeprefix("Bearer ")
        await service.store(CONTENT, metadata={"k": CONTENT}, session_id=CONTENT)
        await service.recall(CONTENT, filter={"metadata": {"k": CONTENT}})
        for body in (
            {"agent_id": CONTENT, "content": CONTENT},
            {"agent_id": "bot", "content": f"\0{CONTENT}"},
            CONTENT,
        ):
            assert (await service.post("/store", body)).status_code == 422
        bad = {"Authorization": f"Bearer {credential}x", "Content-Type": "application/json"}
        assert (await service.client.post("/store", content="{}", headers=bad)).status_code == 401
    written = "".join(capsys.readouterr())
    assert len(events(written)) >= 6
    assert CONTENT not in written
    assert credential not in written
    assert credential.split(".")[1] not in written


def test_the_standard_librarys_events_come_in_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json", "info")
    logging.getLogger("uvicorn.error").info("Started %s", "server")
    logging.getLogger("uvicorn.error").debug("too fine")
    (event,) = events(capsys.readouterr().err)
    assert (event["event"], event["level"]) == ("Started server", "info")


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize("logger", ["the service's", "the standard library's"])
def test_a_traceback_is_plain_and_shows_no_variables(
    capsys: pytest.CaptureFixture[str], log_format: LogFormat, logger: str
) -> None:
    configure_logging(log_format, "info")

    def fail(content: str) -> None:
        raise KeyError(len(content))

    try:
        fail(CONTENT)
    except KeyError:
        if logger == "the service's":
            structlog.get_logger().exception("failed")
        else:
            logging.getLogger("asyncio").exception("failed")
    written = capsys.readouterr().err
    assert "Traceback (most recent call last):" in written
    assert f"KeyError: {len(CONTENT)}" in written
    assert CONTENT not in written
    assert not set("╭│─❱") & set(written)


def test_text_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("text", "warning")
    structlog.get_logger().info("unseen")
    structlog.get_logger().warning("seen", part="index")
    written = capsys.readouterr().err
    assert "seen" in written
    assert "part=index" in written
    assert "unseen" not in written
