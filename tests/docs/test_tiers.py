"""The day of an agent that docs/tiers.md tells goes as it is written."""

import asyncio
import contextlib
import io
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import uvicorn

from app.interfaces.asgi import create_app
from tests.support.service import Service, serving

_PAGE = (Path(__file__).parents[2] / "docs/tiers.md").read_text("utf-8")
_DAY = _PAGE.partition("## An agent's day\n")[2].partition("\n## ")[0]
(_SCRIPT,) = re.findall(r"```python\n(.*?)```", _DAY, re.DOTALL)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(tmp_path) as service:
        yield service


async def test_an_agent_s_day_goes_as_it_is_written(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    server = uvicorn.Server(uvicorn.Config(create_app(service.shards), port=0, log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    token = service.credential(admin=True)["Authorization"].removeprefix("Bearer ")
    monkeypatch.setenv("MEMORY_GATEWAY_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("MEMORY_GATEWAY_TOKEN", token)
    told = io.StringIO()

    def run() -> None:
        with contextlib.redirect_stdout(told):
            exec(compile(_SCRIPT, "docs/tiers.md", "exec"), {})  # noqa: S102 - the page's own script

    try:
        await asyncio.to_thread(run)
    finally:
        server.should_exit = True
        await running
    lines = [line for line in told.getvalue().splitlines() if not line.startswith("20")]  # without the log
    parts = [line.split()[0] for line in lines[:-2]]
    assert parts == ["shared_context", "workflow", "facts", "window"]
    assert lines[2].endswith(" customer prefers to be paid back by - bank transfer")
    assert lines[-2:] == ["Order 17 is lost: refund granted.", "['started', 'tool_call', 'episode', 'ended']"]


def test_every_tier_has_a_row_of_the_table_and_a_section() -> None:
    table = _PAGE.partition("| tier | store |")[2].partition("\n\n")[0]
    anchors = re.findall(r"\]\(#([a-z0-9-]+)\)", table)
    titles = re.findall(r"^## (.*)", _PAGE, re.MULTILINE)
    headings = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(anchors) <= headings
    assert len(set(anchors)) >= 6
