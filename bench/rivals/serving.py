"""The servers that are compared: this service, and memories of others in an environment of their own."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from app.domain.memory import Scope
from bench.client import HOST, get, post_json
from bench.data import AUTH_SECRETS, credential
from bench.rivals.stub import DIMENSIONS, MODEL
from bench.server import Server, free_port, running, service
from bench.users.shapes import ALONE

_ROOT = Path(__file__).parents[2]
_HERE = {"PYTHONPATH": str(_ROOT)}
_NAMED = ("mcp-memory-service==", "langgraph==", "langgraph-checkpoint-sqlite==", "sqlite-vec==")
_RIVALS = Path(sys.prefix) / "rivals" / "bin"
_SCOPE = Scope("tenant", "assistant")
_KEY = "a-key-of-the-benchmark"


@dataclass(frozen=True, slots=True)
class Rival:
    """A server under test, with what stores a text in it and what asks it one."""

    server: Server
    store: Callable[[str], bytes]
    ask: Callable[[str], bytes]


@asynccontextmanager
async def stub() -> AsyncIterator[str]:
    """Run the stub embedder, and yield the URL of its API."""
    port = free_port()
    first = post_json("/v1/embeddings", {"model": MODEL, "input": "a text"}, {})
    async with running([sys.executable, "-m", "bench.rivals.stub", str(port)], _HERE, Path.cwd(), port, first):
        yield f"http://{HOST}:{port}/v1"


@asynccontextmanager
async def ours(directory: Path, url: str) -> AsyncIterator[Rival]:
    """Run this service on SQLite, with the stub as its embedder."""
    headers = credential(_SCOPE)

    def body(field: str) -> Callable[[str, str], bytes]:
        return lambda path, text: post_json(path, {"agent_id": _SCOPE.agent_id, field: text}, headers)

    settings = {
        **ALONE, "AUTH_SECRETS": AUTH_SECRETS, "DATA_DIR": str(directory), "EMBEDDER": "openai",
        "EMBEDDING_MODEL": MODEL, "EMBEDDING_DIMENSIONS": str(DIMENSIONS), "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": _KEY,
    }  # fmt: skip
    first = body("query")("/recall", "who?")
    async with service(directory, settings, first) as server:
        yield Rival(server, lambda text: body("content")("/store", text), lambda text: body("query")("/recall", text))


@asynccontextmanager
async def mcp_memory_service(directory: Path, url: str) -> AsyncIterator[Rival]:
    """Run mcp-memory-service as its command does, on sqlite-vec, with the stub as its external embedder.

    A store tells a conversation, which spares it the search for memories of the same meaning.
    """
    port = free_port()
    settings = {
        "HOME": str(directory), "MCP_MEMORY_BASE_DIR": str(directory), "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
        "MCP_EXTERNAL_EMBEDDING_URL": f"{url}/embeddings", "MCP_EXTERNAL_EMBEDDING_MODEL": MODEL,
        "MCP_ALLOW_ANONYMOUS_ACCESS": "true", "MCP_MDNS_ENABLED": "false", "MCP_BACKUP_ENABLED": "false",
        "MCP_OAUTH_ENABLED": "false",
    }  # fmt: skip
    command = [str(_RIVALS / "memory"), "server", "--http", "--http-host", HOST, "--http-port", str(port)]
    async with running(command, settings, directory, port, get("/api/health", {})) as server:
        yield Rival(
            server,
            lambda text: post_json("/api/memories", {"content": text, "conversation_id": "bench"}, {}),
            lambda text: post_json("/api/search", {"query": text, "n_results": 5}, {}),
        )


@asynccontextmanager
async def sqlite_store(directory: Path, url: str) -> AsyncIterator[Rival]:
    """Run LangGraph's SqliteStore behind two bare routes."""
    port = free_port()
    program = Path(__file__).with_name("store_server.py")
    command = [str(_RIVALS / "python"), str(program), str(port), f"{url}/embeddings", str(directory / "store.sqlite")]
    async with running(command, {}, directory, port, post_json("/recall", {"query": "who?"}, {})) as server:
        yield Rival(
            server,
            lambda text: post_json("/store", {"content": text}, {}),
            lambda text: post_json("/recall", {"query": text}, {}),
        )


RIVALS: Mapping[str, Callable[[Path, str], AbstractAsyncContextManager[Rival]]] = {
    "this service": ours,
    "mcp-memory-service": mcp_memory_service,
    "langgraph SqliteStore": sqlite_store,
}
"""In the order of the table."""


def packages() -> str:
    """Name the Python and the packages of the others, with their versions, as the lock has them."""
    lines = (_ROOT / "deploy" / "lock" / "rivals.txt").read_text("utf-8").splitlines()
    python = subprocess.run(
        [_RIVALS / "python", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return ", ".join([python, *(line.split()[0] for line in lines if line.startswith(_NAMED))])
