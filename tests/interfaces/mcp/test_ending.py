"""The command ends when its client does, or a signal comes; what it said is stored stays stored."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.mcp.connections import MODERN, ROOT, SECONDS
from tests.process.forks import command
from tests.process.server import environment
from tests.support.service import serving

Process = subprocess.Popen[str]
ENDINGS: dict[str, tuple[Callable[[Process], Any], int]] = {
    "its input ends": (lambda process: process.stdin and process.stdin.close(), 0),
    "it is terminated": (lambda process: process.send_signal(signal.SIGTERM), -signal.SIGTERM),
    "it is interrupted": (lambda process: process.send_signal(signal.SIGINT), -signal.SIGINT),
}
ENVELOPE = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


def ended(folder: Path, content: str, end: Callable[[Process], Any]) -> int:
    """Have the command store something, end it as soon as it has answered, and return its exit code."""
    params = {"name": "store_memory", "arguments": {"content": content}, "_meta": ENVELOPE}
    with subprocess.Popen(
        command("mcp", "--tenant", "acme", "--agent", "bot"),
        env=environment(folder / "data", PYTHONPATH=str(ROOT)),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["structuredContent"] == {"stored": True}
        end(process)
        return process.wait(SECONDS)


@pytest.mark.parametrize("when", ENDINGS)
async def test_the_command_ends_and_leaves_what_it_stored(tmp_path: Path, when: str) -> None:
    end, code = ENDINGS[when]
    assert ended(tmp_path, "said to be stored", end) == code
    async with serving(tmp_path / "data") as service:
        assert await service.contents("stored") == ["said to be stored"]
