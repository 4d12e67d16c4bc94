"""What a memory and a recall leave in D1: rows and bytes, for the arithmetic of ``bench.scaling``.

``python -m bench.row_sizes`` prints them. D1 is workerd's, which counts the rows; embeddings and the index are the
double's, whose index shows at once what it was sent. Memories have 500 characters and vectors 1,536 dimensions. Bytes
are those of the pages in use; each half is told. It takes ten minutes, because the outbox keeps a vector for four. The
indexer has a round each second here, and each 15 seconds in a service, so a store reads fewer rows there.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.bootstrap import build_runtime
from app.domain.embedding import EmbeddingConfig
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.runtime.background import Pace
from app.runtime.recall_log import write_recalls
from app.runtime.runtime import Runtime
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.write import Writer
from app.settings import load_settings
from bench.d1 import CountedD1, installed, serving
from bench.data import SECRETS, notes, one_agent, questions
from bench.rows import not_measured
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running

_CONFIG = EmbeddingConfig("openai", "text-embedding-3-small", 1536)
_CHARACTERS, _NOTES_OF_ONE = 500, 5
_MEMORIES, _RECALLS = 500, 500
"""Of each half."""
_SEED = 6
_PACE = Pace(indexer_seconds=1.0, words_seconds=600.0)
_LATER_SECONDS, _POLL_SECONDS = 5.0, 1.0
"""The mark of an index passes a vector once a later one was written, so that the last one may wait."""


@dataclass(frozen=True, slots=True)
class _Bench:
    runtime: Runtime
    database: CountedD1
    file: Path

    def used(self) -> int:
        """Return the bytes of the pages in use."""
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as connection:
            (pages,), (free,), (size,) = (
                connection.execute(f"PRAGMA {name}").fetchone()
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * size)

    def waiting(self) -> int:
        """Return how many changes the index does not show yet, without a row that the engine counts."""
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM outbox").fetchone()[0])

    def told(self, name: str, count: int, bytes_before: int) -> str:
        """Return the rows and bytes of each of so many operations since the reads were forgotten."""
        read, written = (sum(each.rows for each in self.database.reads), sum(e.written for e in self.database.reads))
        size = (self.used() - bytes_before) / count
        return f"{name}: {read / count:.1f} rows read, {written / count:.1f} rows written, {size:.0f} bytes"


async def _measure() -> None:
    texts = notes(_SEED)
    async with _running() as bench:
        for half in ("first half", "second half"):
            before = bench.used()
            bench.database.reads.clear()
            await _store(bench, [" ".join(islice(texts, _NOTES_OF_ONE))[:_CHARACTERS] for _ in range(_MEMORIES)])
            print(bench.told(f"store, {half}", _MEMORIES, before))
        for half in ("first half", "second half"):
            await _recall(bench, half)


async def _store(bench: _Bench, contents: list[str]) -> None:
    """Store one after the other, and wait until all but the last have left the outbox."""
    (scope,) = one_agent()
    writer = Writer(bench.runtime.backends.of_tenant(scope.tenant_id))
    for content in contents:
        await writer.store(scope, NewMemory(content), None)
    await asyncio.sleep(_LATER_SECONDS)
    await writer.store(scope, NewMemory(f"later {contents[0]}"[:_CHARACTERS]), None)
    while bench.waiting() > 1:  # noqa: ASYNC110 - the indexer tells nobody
        await asyncio.sleep(_POLL_SECONDS)


async def _recall(bench: _Bench, half: str) -> None:
    """Recall, and tell what the rows in the log of recalls take."""
    (scope,) = one_agent()
    backends = bench.runtime.backends
    gateway = LongTermMemoryGateway(backends.of_tenant(scope.tenant_id))
    before = bench.used()
    bench.database.reads.clear()
    for text in islice(questions(_SEED + len(half)), _RECALLS):
        await gateway.recall(scope.agent_id, Query(text))
    await write_recalls(backends)
    bench.database.reads[:] = [each for each in bench.database.reads if "INSERT INTO recall_log" in each.sql]
    print(bench.told(f"row of a recall, {half}", _RECALLS, before))


@asynccontextmanager
async def _running() -> AsyncIterator[_Bench]:
    """Run the service in this process on an empty D1 database of workerd."""
    options = DoubleOptions(rate_limit=False, visibility_seconds=(0.0, 0.0))
    with TemporaryDirectory(prefix="row-sizes-") as directory, running(options) as handle:
        handle.double.create_index(_CONFIG.index_name, _CONFIG.dimensions, {**SCOPE_TYPES})
        empty, engine = Path(directory) / "empty.sqlite", Path(directory) / "engine"
        with closing(sqlite3.connect(empty)) as connection:
            connection.execute("PRAGMA user_version = 0")
            connection.execute("VACUUM")
        settings = load_settings(
            embedder="openai",
            auth_secrets=SECRETS,
            cloudflare_account_id=options.account_id,
            cloudflare_api_token=options.api_token,
            cloudflare_api_base_url=handle.cloudflare_url,
            cloudflare_d1_database_id=handle.double.create_database("not used"),
            cloudflare_calls_per_window=0,
            openai_api_key=options.openai_api_key,
            openai_base_url=handle.openai_url,
        )
        with serving({"sizes": empty}, engine) as url:
            built = build_runtime(settings)
            database = CountedD1(url, "sizes")
            runtime = Runtime(
                replace(built.backends, database=database, call_shares=None), built.credentials, built.metrics,
                name=built.name, prepare_index=built.prepare_index, closers=[*built.closers, database.close],
                pace=_PACE,
            )  # fmt: skip
            await runtime.start()
            kept = engine / "d1" / "miniflare-D1DatabaseObject"
            (file,) = (each for each in kept.glob("*.sqlite") if each.name != "metadata.sqlite")
            try:
                yield _Bench(runtime, database, file)
            finally:
                await runtime.close()


if __name__ == "__main__":
    if installed():
        asyncio.run(_measure())
    else:
        print(not_measured())
