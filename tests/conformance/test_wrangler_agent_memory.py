"""Cloudflare's own command line administers our namespaces as it does theirs, with nothing but another address."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.toolchain import NODE, WRANGLER
from tests.process.conftest import Start, data_dir, spawn, start
from tests.process.server import Server, credential

__all__ = ["data_dir", "spawn", "start"]
ACCOUNT = "0123456789abcdef0123456789abcdef"
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """Runs ``wrangler agent-memory`` in a folder of its own, against a running service."""

    folder: Path
    server: Server

    def run(self, *arguments: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command; without a proxy or a name server it reaches this machine alone."""
        return subprocess.run(
            [NODE, WRANGLER, "agent-memory", *arguments],
            cwd=self.folder,
            env=self._environment(token or credential(admin=True)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def ok(self, *arguments: str) -> str:
        """Run a command that must succeed and return what it prints."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """Run a command and return the JSON it prints."""
        return json.loads(self.ok(*arguments, "--json"))

    def refused(self, *arguments: str, token: str | None = None) -> str:
        """Run a command that must fail and return what it says."""
        done = self.run(*arguments, token=token)
        assert done.returncode != 0, done.stdout
        return done.stdout + done.stderr

    def _environment(self, token: str) -> dict[str, str]:
        return {
            "HOME": str(self.folder),
            "PATH": str(NODE.parent),
            "CI": "true",  # asks nothing
            "CLOUDFLARE_API_BASE_URL": f"{self.server.url}/client/v4",
            "CLOUDFLARE_API_TOKEN": token,
            "CLOUDFLARE_ACCOUNT_ID": ACCOUNT,
            "WRANGLER_SEND_METRICS": "false",
            "WRANGLER_HIDE_BANNER": "true",  # and does not ask npm for a newer version
            "WRANGLER_WRITE_LOGS": "false",
        }


@pytest.fixture
async def wrangler(tmp_path: Path, start: Start) -> AgentMemory:
    return AgentMemory(tmp_path, await start())


async def test_a_namespace_is_created_listed_shown_and_deleted(wrangler: AgentMemory) -> None:
    assert "No Agent Memory namespaces found" in wrangler.ok("namespace", "list")
    assert 'Created Agent Memory namespace "my-app"' in wrangler.ok("namespace", "create", "my-app")
    listed = wrangler.json("namespace", "list")
    assert [(each["name"], each["account_id"]) for each in listed] == [("my-app", ACCOUNT)]
    shown = wrangler.json("namespace", "get", "my-app")
    assert shown == listed[0]
    table = wrangler.ok("namespace", "get", "my-app")
    assert all(shown[name] in table for name in ("id", "name", "account_id", "created_at", "updated_at"))
    wrangler.ok("namespace", "delete", "my-app", "--force")
    assert wrangler.json("namespace", "list") == []
    assert wrangler.json("namespace", "create", "my-app")["id"] != shown["id"]


@pytest.mark.long
async def test_it_lists_more_namespaces_than_a_page_holds(wrangler: AgentMemory) -> None:
    names = [f"app-{number}" for number in range(21)]
    async with wrangler.server.client() as client:
        for name in names:
            await client.post(f"/client/v4/accounts/{ACCOUNT}/agent-memory/namespaces", json={"name": name})
    assert [each["name"] for each in wrangler.json("namespace", "list")] == names


async def test_what_is_refused_is_told_in_our_words_and_what_is_absent_in_its_own(wrangler: AgentMemory) -> None:
    wrangler.ok("namespace", "create", "my-app")
    again = wrangler.refused("namespace", "create", "my-app")
    assert 'Failed to create Agent Memory namespace "my-app"' in again
    assert "Namespace name already exists [code: 10008]" in again
    assert "name must be 1 to 32 of the characters" in wrangler.refused("namespace", "create", "My_App")
    for command in (["get", "gone"], ["delete", "gone", "--force"]):
        assert 'Agent Memory namespace "gone" not found' in wrangler.refused("namespace", *command)
    assert "[code: 9109]" in wrangler.refused("namespace", "list", token=credential())
    assert "[code: 10000]" in wrangler.refused("namespace", "list", token="no credential of ours")
