"""A stand-in for the Worker of ``deploy/edge``, in front of a double: the REST API answers beside it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.adapters.local.hashing import HashingEmbedder
from memory_gateway_double.account import CLOUDFLARE, Double
from memory_gateway_double.delivery import Receive, Scope, Send
from tests.support.backends import Backend, running_on

_PREFIX = "/edge"
SECRET = "a-secret-of-the-tests-long-enough-for-an-edge"


class EdgeWorker:
    """Passes on to the double what the names in its configuration allow, and refuses everything else.

    What it passes on is the same as over the REST API, apart from the token. It offers no feature of its own.
    """

    def __init__(self, double: Double) -> None:
        self._double = double
        self.databases: set[str] = set()
        self.indexes: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith(_PREFIX):
            await self._double(scope, receive, send)
            return
        path = scope["path"].removeprefix(_PREFIX)
        headers = dict(scope["headers"])
        refusal = self._refusal(path.split("/accounts/", 1)[-1].split("/")[1:], headers)
        if refusal is not None:
            await _answer(send, *refusal)
        elif path.endswith("/capabilities"):
            told = {"version": 1, "databases": sorted(self.databases), "indexes": sorted(self.indexes)}
            await _answer(send, 200, {"success": True, "result": {**told, "models": [], "features": []}})
        else:
            headers[b"authorization"] = f"Bearer {self._double.options.api_token}".encode()
            passed = {**scope, "path": path, "raw_path": path.encode(), "headers": list(headers.items())}
            await self._double(passed, receive, send)

    def _refusal(self, parts: list[str], headers: Mapping[bytes, bytes]) -> tuple[int, dict[str, Any]] | None:
        if headers.get(b"authorization") != f"Bearer {SECRET}".encode():
            return _refused(401, 10000, "Authentication error")
        match parts:
            case ["capabilities"] | ["ai", *_]:
                return None
            case ["d1", "database", name, "query"]:
                return None if name in self.databases else _refused(404, 7404, f"The database {name} is not found.")
            case ["vectorize", "v2", "indexes", name, _, *_]:
                return None if name in self.indexes else _refused(404, 3000, f"The index {name} was not found.")
        return _refused(405, 7001, "The bindings of a Worker do not answer here: see deploy/edge/README.md.")


@dataclass(frozen=True, slots=True)
class Edge:
    """A Worker in front of an account; it knows the account's first database, and the hashing embedder's index."""

    account: Backend
    worker: EdgeWorker
    data_dir: Path

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return the settings of a service behind it."""
        url = self.account.doubles[self.data_dir].url + _PREFIX + CLOUDFLARE
        return {
            **self.account.settings(self.data_dir),
            "cloudflare_api_base_url": url,
            "cloudflare_api_token": SECRET,
            "cloudflare_calls_per_window": 1_100,
            **more,
        }


@contextmanager
def running_edge(data_dir: Path) -> Iterator[Edge]:
    workers: list[EdgeWorker] = []

    def served(double: Double) -> EdgeWorker:
        workers.append(EdgeWorker(double))
        return workers[-1]

    with running_on("cloudflare", served=served) as account:
        settings = account.settings(data_dir)
        (worker,) = workers
        worker.databases.add(settings["cloudflare_d1_database_id"])
        worker.indexes.add(HashingEmbedder().config.index_name)
        yield Edge(account, worker, data_dir)


def _refused(status: int, code: int, message: str) -> tuple[int, dict[str, Any]]:
    return status, {"success": False, "errors": [{"code": code, "message": message}], "result": None}


async def _answer(send: Send, status: int, body: dict[str, Any]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": orjson.dumps(body)})
