"""Servers as processes of their own, none of which outlives its test."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.process.server import Server

# Measures, so it is asked for by name: `make soak`.
collect_ignore = [] if "SOAK_TRANSFER" in os.environ else ["test_transfer_soak.py"]


class Spawn(Protocol):
    """Starts a server on the test's data directory without waiting for it."""

    def __call__(self, *, log: Path | None = None, **settings: str) -> Server:
        """Settings are environment variables; the log goes into a file of the test's unless said otherwise."""
        ...


class Start(Protocol):
    """Starts a server on the test's data directory and waits until it is ready."""

    async def __call__(self, *, log: Path | None = None, **settings: str) -> Server:
        """Take the same as ``Spawn``."""
        ...


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def spawn(tmp_path: Path, data_dir: Path) -> Iterator[Spawn]:
    servers: list[Server] = []

    def spawned(*, log: Path | None = None, **settings: str) -> Server:
        servers.append(Server.spawn(data_dir, log or tmp_path / f"server-{len(servers)}.log", **settings))
        return servers[-1]

    yield spawned
    for server in servers:
        server.process.kill()
        server.process.wait()


@pytest.fixture
def start(spawn: Spawn) -> Start:
    async def started(*, log: Path | None = None, **settings: str) -> Server:
        server = spawn(log=log, **settings)
        await server.ready()
        return server

    return started
