"""A small store, and what requests to it do: the same in every run, on every machine with the same packages."""

import asyncio
import gc
import json
import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import apsw
import structlog
from starlette.types import Message, Scope

from app.adapters.local import sqlite_readers
from app.bootstrap import DATABASE_FILE
from app.domain.memory import NewMemory
from app.domain.memory import Scope as Agent
from app.runtime.backends import Backends
from bench.data import messages, notes, questions
from bench.prefill import prefill
from bench.short.counting import Counter
from tests.support import migrated
from tests.support.service import Service, serving

_AGENTS, _AGENT = 4, "agent-1"
_MEMORIES = 2_000
_TRIES = 4
_QUERIES = 4
_MERGE = "INSERT INTO memory_words (memory_words) VALUES ('optimize')"
"""Makes one b-tree of the index of words, in which a search looks into each."""
_SEED = 11
_TOPICS = 10
_SUCCESS = 2
_PATIENT = 60.0

_LONG, _EMPTY = "recall of 60 words", "recall of an empty agent"
_FILTERS: Mapping[str, Mapping[str, object]] = {
    "recall, metadata filter": {"filter": {"metadata": {"topic": "t3"}}},
    "recall, time filter": {"filter": {"created_after": "2001-01-01T00:00:00Z"}},
}
KINDS = ("recall", _LONG, *_FILTERS, _EMPTY, "store")
"""The requests that are counted."""

Change = Callable[[Backends], Backends]
Counted = dict[str, dict[str, int]]
"""What a request of each kind does: counts by their name, by the kind."""
_Body = Mapping[str, object]


@contextmanager
def apart() -> Iterator[Executor]:
    """Run ``count`` in a process of its own, whose texts hash alike in every run."""
    with (
        patch.dict(os.environ, {"PYTHONHASHSEED": "0"}),
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        yield pool


def count(kinds: Collection[str] = KINDS, change: Change = replace) -> Counted:
    """Count what requests of these kinds do; ``change`` may put other ports in the place of the real ones."""
    with TemporaryDirectory(prefix="short-") as directory:
        return asyncio.run(_count(Path(directory), kinds, change))


async def _count(folder: Path, kinds: Collection[str], change: Change) -> Counted:
    agents = [Agent("acme", f"agent-{number}") for number in range(_AGENTS)]
    migrated.prepare(folder)
    await asyncio.to_thread(prefill, folder, "hashing", agents, _MEMORIES, _with_metadata)
    with closing(apsw.Connection(str(folder / DATABASE_FILE))) as connection:
        connection.execute(_MERGE)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    counter, counted = Counter(), {}
    # A read that takes long is begun again apart, and counting makes each take long.
    with counter.installed(), patch.object(sqlite_readers, "_TURN_SECONDS", _PATIENT):
        async with serving(folder, change=change, query_cache_bytes=0) as service:
            client = _Client(service, counter)
            for kind in kinds:
                path, bodies = _asked(kind)
                counted[kind] = await client.least(path, bodies)
    return counted


def _with_metadata(number: int, note: str) -> NewMemory:
    return NewMemory(note, {"topic": f"t{number % _TOPICS}", "number": number})


def _asked(kind: str) -> tuple[str, Sequence[Sequence[_Body]]]:
    """Return the path of a kind of request, and its bodies: those of one sequence are the same, or do the same."""
    if kind == "store":
        texts = list(islice(notes(_SEED), _QUERIES * _TRIES))
        return "/store", [
            [{"agent_id": _AGENT, "content": text} for text in texts[each::_QUERIES]] for each in range(_QUERIES)
        ]
    asked = list(islice(messages(_SEED) if kind == _LONG else questions(_SEED), _QUERIES))
    agent = "nobody" if kind == _EMPTY else _AGENT
    where = _FILTERS.get(kind, {})
    return "/recall", [[{"agent_id": agent, "query": text, **where}] * _TRIES for text in asked]


class _Client:
    """Calls the application itself, so that no client's work is counted."""

    def __init__(self, service: Service, counter: Counter) -> None:
        self._service = service
        self._counter = counter
        self._headers = [
            (name.lower().encode(), value.encode())
            for name, value in {**service.credential(), "Host": "service", "Content-Type": "application/json"}.items()
        ]

    async def least(self, path: str, bodies: Sequence[Sequence[_Body]]) -> dict[str, int]:
        """Return the least of the tries of each body, each count by itself, on the average of all bodies but the first.

        A try does more where a thread begins, a timer ends or what was kept is made anew, as with the first body.
        """
        together: dict[str, int] = {}
        await self._ask(path, bodies[0][0])
        for tries in bodies[1:]:
            counts = [await self._ask(path, body) for body in tries]
            for name in counts[0]:
                together[name] = together.get(name, 0) + min(each[name] for each in counts)
        return {name: round(count / (len(bodies) - 1)) for name, count in together.items()}

    async def _ask(self, path: str, body: _Body) -> dict[str, int]:
        content = json.dumps(body).encode()
        scope: Scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": path, "raw_path": path.encode(), "root_path": "", "query_string": b"", "client": ("127.0.0.1", 1),
            "server": ("service", 80), "headers": [*self._headers, (b"content-length", b"%d" % len(content))],
        }  # fmt: skip
        status, answered = 0, list[bytes]()
        coming: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

        async def receive() -> Message:
            return coming.pop() if coming else await asyncio.Future()

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            answered.append(message.get("body", b""))

        with _no_garbage_collected(), self._counter.request() as counts:
            await self._service.app(scope, receive, send)
            await self._service.delivered()
        if status // 100 != _SUCCESS:
            raise RuntimeError(f"{path} answered {status}: {b''.join(answered)!r}")
        return asdict(counts)


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    gc.collect(1)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
