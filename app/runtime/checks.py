"""Checks the parts of the service: the database, the index, the embedder and all others that are set up."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
from app.domain.errors import MemoryGatewayError
from app.ports.index_admin import IndexAdmin
from app.runtime.backends import Backends
from app.runtime.language_model import model_names
from app.storage import embedding_configs

_AGAIN_SECONDS = 1.0
"""The pause before a failed check is made again; after each further failure the pause is twice as long."""
_WORDS_MISSING = "The index of words is damaged, and is made again: until then recalls say lexical_unavailable."


@dataclass(frozen=True, slots=True)
class PartState:
    """The state of one part of the service: its backend, its error if it has one, and a notice for operators."""

    name: str
    backend: str
    error: MemoryGatewayError | None = None
    notice: str | None = None
    needed_by: Literal["all", "some", "none"] = "all"
    """The tenants whose requests are refused while the part fails.

    The service is ready without a part that only some tenants, or none, need.
    """


class Checks:
    """Asks each part whether it works."""

    def __init__(
        self,
        backends: Backends,
        config: Callable[[], EmbeddingConfig],
        not_ready: Callable[[], MemoryGatewayError | None],
        reuse_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        words_missing: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take the backends, and functions that return the served config and the reason why the service is not ready.

        A result is reused for ``reuse_seconds``; the clock returns seconds. ``words_missing`` tells whether the index
        of words was last seen to lack memories.
        """
        self._backends = backends
        self._config = config
        self._not_ready = not_ready
        self._reuse_seconds = reuse_seconds
        self._clock = clock
        self._words_missing = words_missing
        self._checking = asyncio.Lock()
        self._parts: tuple[float, MemoryGatewayError | None, list[PartState]] | None = None
        """The result of the last check, when it was made, and why the service was not ready then."""
        self._room: tuple[float, MemoryGatewayError | None] | None = None
        self._failed = 0
        """How many checks in a row have found that the service is not ready."""

    async def parts(self) -> list[PartState]:
        """Check each part that requests need, or return the result of a recent check."""
        async with self._checking:  # one check at a time: the callers that waited for it get its result
            why = self._not_ready()
            if self._parts is not None and self._holds(self._parts[0]) and self._parts[1] is why:
                return self._parts[2]
            parts = await self._ask()
            failed = any(part.error is not None and part.needed_by == "all" for part in parts)
            self._failed = self._failed + 1 if failed else 0
            self._parts = (self._clock(), why, parts)
            return parts

    def _holds(self, checked_at: float) -> bool:
        """Tell whether a check is recent enough.

        A failed check is made again after a second, then less often, but soon after a request was answered.
        """
        seconds = self._reuse_seconds
        if self._failed:
            answered = self._backends.last_answer.at > checked_at
            waits = _AGAIN_SECONDS if answered else _AGAIN_SECONDS * 2.0 ** min(self._failed - 1, 10)
            seconds = min(seconds, waits)
        return self._clock() - checked_at < seconds

    async def language_model(self) -> list[PartState]:
        """Ask each stage's model for a word, which costs tokens; the list is empty where no model is set."""
        model = self._backends.model
        if model is None:
            return []
        return [replace(await _ping("language model", model_names(model), model.ping), needed_by="none")]

    async def blobs(self) -> PartState:
        """Ask the object store; the service is ready without it."""
        objects = self._backends.objects
        return replace(await _ping("blobs", objects.backend, objects.ping), needed_by="none")

    async def _ask(self) -> list[PartState]:
        index = self._backends.index_of(self._config())
        embedder = self._backends.embedder
        if self._not_ready() is None:
            embedder = self._backends.embedder_of(self._config())
        return [
            await self._database(),
            await self._index(index),
            await _ping("embedder", embedder.config.provider, embedder.ping),
            *await self._reader(),
            *await self._reranker(),
            await self._data(),
        ]

    async def _index(self, index: IndexAdmin) -> PartState:
        """Ask the index; add a notice while the index is being made, since no vector is sent to it then."""
        part = await _ping("index", index.backend, index.ping)
        if self._config().index_name not in self._backends.configs.building:
            return part
        notice = "It is being made, and vectors wait in the outbox. If the command was stopped, run it again."
        return replace(part, notice=notice)

    async def _database(self) -> PartState:
        """Ask the database whether it answers, and at most once a second whether it can grow, since that writes."""
        database, check_room = self._backends.database, self._backends.check_room
        part = await _ping("database", database.backend, database.ping)
        if part.error is not None or check_room is None:
            return part
        now = self._clock()
        if self._room is None or now - self._room[0] >= _AGAIN_SECONDS:
            self._room = now, (await _ping("database", database.backend, check_room)).error
        return replace(part, error=self._room[1])

    async def _reader(self) -> list[PartState]:
        reader = self._backends.reader
        if reader is None:
            return []
        return [replace(await _ping("reader", reader.version, reader.ping), needed_by="none")]

    async def _reranker(self) -> list[PartState]:
        reranker = self._backends.reranker
        if reranker is None:
            return []
        return [replace(await _ping("reranker", reranker.name, reranker.ping), needed_by="none")]

    async def _data(self) -> PartState:
        """Check whether the data can be served; add a notice where the settings name another config."""
        name, settings = self._config().index_name, self._backends.embedder.config
        if (error := self._not_ready()) is not None:
            return PartState("data", name, error)
        try:
            data = await embedding_configs.current(self._backends.database)
            if data is None or data.active == settings:
                return PartState("data", name, notice=_WORDS_MISSING if self._words_missing() else None)
            self._backends.embedder_of(data.active)
        except MemoryGatewayError as error:
            return PartState("data", name, error)
        return PartState("data", data.active.index_name, notice=another_config(data, settings))


def another_config(data: EmbeddingConfigs, settings: EmbeddingConfig) -> str:
    """Return a notice that names the config that is served and the command to run."""
    state = f"The data is embedded with {data.active} and served so; the settings name {settings}."
    if data.shadow == settings:
        return f"{state} A re-embedding is under way: memory-gateway reembed status."
    return f"{state} To move the data: memory-gateway reembed start. To stay: set the embedder to the data's."


async def _ping(name: str, backend: str, ping: Callable[[], Awaitable[None]]) -> PartState:
    try:
        await ping()
    except MemoryGatewayError as error:
        return PartState(name, backend, error)
    return PartState(name, backend)
