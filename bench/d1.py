"""D1's own engine, workerd, with databases that were filled beforehand, and what it says a run has read."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareAnswer, CloudflareClient
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.upstream import Call
from app.observability.metrics import Metrics
from bench.server import ServerFailed

_FOLDER = Path(__file__).parents[1] / "tests" / "conformance" / "node"
_NODE = _FOLDER / "node_modules" / "node" / "bin" / "node"
_ACCOUNT = "0" * 32
_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Read:
    """What a run has read: rows, the engine's milliseconds, and its answer's bytes; and the rows it has written."""

    rows: int
    milliseconds: float
    size: int
    sql: str
    written: int = 0


class CountedD1(D1Database):
    """A database of the engine that remembers what its runs have read."""

    def __init__(self, url: str, name: str) -> None:
        """Use the database ``name`` of the engine; the caller closes it."""
        self.reads: list[Read] = []
        self._own = CloudflareClient(
            account_id=_ACCOUNT,
            api_token="no token is asked for",  # noqa: S106 - the engine has none
            base_url=f"{url}/client/v4",
            call_budget=CallBudget(limit=None),
            metrics=Metrics(),
        )
        super().__init__(self._own, name)

    async def close(self) -> None:
        """Close the connections."""
        await self._own.close()

    async def _attempt(self, call: Call, attempts: int, deadline: asyncio.Timeout) -> CloudflareAnswer:
        answer = await super()._attempt(call, attempts, deadline)
        told = [result["meta"] for result in answer.result]
        self.reads.append(
            Read(
                sum(meta["rows_read"] for meta in told),
                sum(meta["duration"] for meta in told),
                len(orjson.dumps(answer.result)),
                (call.content or b"").decode(),
                sum(meta["rows_written"] for meta in told),
            )
        )
        return answer


def installed() -> bool:
    """Tell whether the engine is there; ``make conformance`` installs it."""
    return _NODE.exists()


@contextmanager
def serving(files: Mapping[str, Path], directory: Path) -> Iterator[str]:
    """Serve copies of SQLite files as D1 databases of the given names, and yield the engine's URL."""
    kept = directory / "d1" / "miniflare-D1DatabaseObject"
    places: dict[str, Path] = {}
    with _engine(directory, list(files)) as url:
        for name in files:
            before = set(kept.glob("*.sqlite"))
            _create(url, name)
            (places[name],) = {file for file in kept.glob("*.sqlite") if file.name != "metadata.sqlite"} - before
    for name, file in files.items():
        for ending in ("-wal", "-shm"):
            Path(f"{places[name]}{ending}").unlink(missing_ok=True)
        shutil.copyfile(file, places[name])
    with _engine(directory, list(files)) as url:
        yield url


def _create(url: str, name: str) -> None:
    path = f"{url}/client/v4/accounts/{_ACCOUNT}/d1/database/{name}/query"
    httpx.post(path, json={"sql": "CREATE TABLE empty (a)", "params": []}).raise_for_status()


@contextmanager
def _engine(directory: Path, names: list[str]) -> Iterator[str]:
    process = subprocess.Popen(
        [_NODE, "d1-engine.js", "0", str(directory), *names],
        cwd=_FOLDER,
        env={"TMPDIR": str(directory), "HOME": str(directory)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        said = b"" if process.stdout is None else process.stdout.readline()
        if not said:
            raise ServerFailed("D1's engine did not start")
        yield json.loads(said)["url"]
        if process.stdin is not None:
            process.stdin.close()  # by which it is told to stop
        process.wait(_STOP_SECONDS)
    finally:
        process.kill()
        process.wait()
