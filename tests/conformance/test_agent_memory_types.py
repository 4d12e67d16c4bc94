"""Cloudflare's published types of Agent Memory hold over our wire, in a Worker that runs on Cloudflare's own engine."""

import json
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.toolchain import FOLDER, NODE, TSC
from tests.process.conftest import Start, data_dir, spawn, start
from tests.process.server import credential

__all__ = ["data_dir", "spawn", "start"]
CLIENT, WORKER, RUN, CONFIG = (
    "agent-memory.ts",
    "agent-memory-worker.ts",
    "agent-memory.js",
    "agent-memory.tsconfig.json",
)
ACCOUNT = "0123456789abcdef0123456789abcdef"
MESSAGES = {"We use npm for everything.", "Understood, npm it is.", "Actually, we use pnpm now.", "I prefer dark mode."}
_SECONDS = 120


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    folder = tmp_path / "worker"
    folder.mkdir()
    for name in (CLIENT, WORKER, RUN, CONFIG, "package.json"):
        shutil.copy(FOLDER / name, folder)
    (folder / "node_modules").symlink_to(FOLDER / "node_modules")
    return folder


def run(folder: Path, *arguments: str | Path) -> str:
    """Run a program of node, and end all that it has started: workerd outlives the node that started it."""
    process = subprocess.Popen(
        [NODE, *arguments],
        cwd=folder,
        env={"HOME": str(folder), "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=_SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return said


async def answered(worker: Path, start: Start) -> Any:
    """Return what the Worker answers, run on workerd against a service of its own."""
    server = await start()
    namespaces = f"/client/v4/accounts/{ACCOUNT}/agent-memory/namespaces"
    async with server.client() as client:
        assert (await client.post(namespaces, json={"name": "my-app"})).status_code == 201
    bindings = {
        "url": f"{server.url}/client/v4",
        "account": ACCOUNT,
        "token": credential(admin=True),
        "namespace": "my-app",
    }
    answer = json.loads(run(worker, RUN, json.dumps(bindings)))
    assert answer["status"] == 200, answer["text"]
    return json.loads(answer["text"])


async def test_a_worker_written_for_cloudflare_s_binding_works_against_the_service(worker: Path, start: Start) -> None:
    told = await answered(worker, start)
    assert set(told["once"]) <= MESSAGES
    assert "Actually, we use pnpm now." in told["once"]
    assert told["twice"] == told["once"]
    remembered, recalled = told["remembered"], told["recalled"]
    assert list(remembered) == ["id", "type", "summary", "content", "sessionId", "createdAt", "updatedAt"]
    assert (remembered["content"], remembered["sessionId"]) == ("Always answer in one sentence.", "notes")
    assert told["isDate"]
    assert told["got"] == told["deleted"] == remembered
    assert "pnpm" in recalled["answer"]
    assert recalled["count"] == len(recalled["candidates"]) > 0
    assert {name for each in recalled["candidates"] for name in each} == {"id", "summary", "sessionId", "score"}
    assert told["nothing"] == {"answer": "", "count": 0, "candidates": []}
    assert remembered["id"] in [each["id"] for each in told["alike"]["memories"]]
    assert "pnpm" in told["summary"]
    assert told["gone"][:2] == [404, 1003]
    assert told["left"] == {"memories": []}
    assert told["unknown"] == [404, 1003, "profile not found"]


def test_it_is_typed_strictly_by_cloudflare_s_own_types(worker: Path) -> None:
    assert run(worker, TSC, "--project", CONFIG) == ""


@pytest.mark.parametrize(
    ("file", "right", "wrong", "error"),
    [
        (CLIENT, "async getSummary(", "async summary(", "Property 'getSummary' is missing"),
        (
            CLIENT,
            'return memory((await this.call<Sent<AgentMemoryMemory>>("POST"',
            'return ((await this.call<Sent<AgentMemoryMemory>>("POST"',
            "not assignable to type 'Date'",
        ),
        (CLIENT, "memories, cursor: page.result_info.cursor", "items: memories", "'items' does not exist"),
        (WORKER, 'thinkingLevel: "high"', 'thinkingLevel: "deep"', "is not assignable"),
        (WORKER, 'sessionId: "notes"', "sessionId: 7", "Type 'number' is not assignable"),
    ],
)
def test_what_cloudflare_s_types_do_not_have_does_not_compile(
    worker: Path, file: str, right: str, wrong: str, error: str
) -> None:
    code = (worker / file).read_text(encoding="utf-8")
    assert code.count(right) == 1
    (worker / file).write_text(code.replace(right, wrong), encoding="utf-8")
    assert error in run(worker, TSC, "--project", CONFIG)
