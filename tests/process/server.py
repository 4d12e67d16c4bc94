"""A server as a process of its own: started, watched, killed and stopped as an operator would."""

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from app.services.access.credentials import Credentials
from tests.process.forks import Fork, command, fork_server

SECRET = "a-secret-for-tests-of-forty-characters-x"
_WAIT_SECONDS = 20.0
_RUN_SECONDS = 60.0
"""A command takes a second or two. The bound is for a machine that does much else."""


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float = _WAIT_SECONDS) -> None:
    """Ask until the condition holds; fail after the deadline."""
    deadline = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < deadline, f"{condition.__name__} did not become true in {seconds} s"
        await asyncio.sleep(0.05)


def environment(data_dir: Path, **settings: str) -> dict[str, str]:
    """Return settings for a process: this data directory, any free port and no model."""
    ours = {
        "DATA_DIR": str(data_dir),
        "EMBEDDER": "hashing",
        "READER": "none",
        "AUTH_SECRETS": f"test={SECRET}",
        "PORT": "0",
        "WORKERS": "1",  # a test that wants more says so: `auto` depends on the machine
        "LOG_FORMAT": "json",
        "REQUEST_WAIT_SECONDS": "60",  # a busy machine refuses none
    }
    return os.environ | ours | settings


def credential(**rights: Any) -> str:
    """Return a token of the tenant ``test``, with these rights."""
    return Credentials({"test": SECRET}).issue("test", now=time.time_ns() // 1_000_000, **rights)


def unprivileged() -> list[str]:
    """Return what starts a process that file permissions hold for, even when the tests run as root."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    assert setpriv is not None, "setpriv (util-linux) takes root's privilege to ignore permissions"
    dropped = "-dac_override,-dac_read_search"
    return [setpriv, f"--bounding-set={dropped}", f"--inh-caps={dropped}"]


def run(data_dir: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command that is expected to end by itself."""
    return subprocess.run(
        command(*arguments),
        env=environment(data_dir, **settings),
        cwd=data_dir.parent,
        capture_output=True,
        text=True,
        timeout=_RUN_SECONDS,
        check=False,
    )


@dataclass(slots=True)
class Server:
    """One ``memory-gateway serve``."""

    data_dir: Path
    process: "Fork | subprocess.Popen[bytes]"
    log: Path
    url: str = ""

    @classmethod
    def spawn(cls, data_dir: Path, log: Path, **settings: str) -> "Server":
        """Start the process and return without waiting for it."""
        with log.open("wb") as output, Path(os.devnull).open("rb") as nothing:
            settings = environment(data_dir, **settings)
            streams = (nothing.fileno(), output.fileno(), output.fileno())
            process = Fork(fork_server(), ["serve"], settings, data_dir.parent, streams)
        return cls(data_dir, process, log)

    async def listening(self, seconds: float = _WAIT_SECONDS) -> None:
        """Wait until the process takes connections, and note where."""

        async def listens() -> bool:
            assert self.process.poll() is None, f"the server ended:\n{self.log.read_text()}"
            ports = [
                connection.laddr.port
                for connection in psutil.Process(self.process.pid).net_connections("tcp")
                if connection.status == psutil.CONN_LISTEN
            ]
            self.url = f"http://127.0.0.1:{ports[0]}" if ports else ""
            return bool(ports)

        await until(listens, seconds=seconds)

    async def readiness(self) -> httpx.Response:
        """Ask once whether the service is ready."""
        async with self.client() as client:
            return await client.get("/readyz")

    async def is_not_ready(self) -> bool:
        """Tell whether the service says that it is not ready."""
        return (await self.readiness()).status_code == 503

    async def ready(self, seconds: float = _WAIT_SECONDS) -> None:
        """Wait until the service is ready."""
        await self.listening(seconds)

        async def is_ready() -> bool:
            return (await self.readiness()).status_code == 200

        await until(is_ready, seconds=seconds)

    def client(self, token: str | None = None) -> httpx.AsyncClient:
        """Return a client of the tenant ``test``, with all of its rights unless another token is given."""
        token = token or credential(admin=True)
        return httpx.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=_WAIT_SECONDS,
            trust_env=False,
            verify=False,
        )

    def kill(self) -> None:
        """End the process as a power cut would, without waiting."""
        self.process.kill()

    async def ended(self) -> int:
        """Wait for the process to end and return its exit code."""

        async def has_ended() -> bool:
            return self.process.poll() is not None

        await until(has_ended)
        return self.process.wait()

    async def stop(self) -> int:
        """Ask the process to stop and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return await self.ended()
