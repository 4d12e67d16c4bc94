"""What a recall costs the database: rows read, time and bytes of an answer on D1's own engine (ADR 0038).

A row is what D1 counts as read and bills: a step of a table, an index, the index of words or a result kept in between.
The engine runs only where the packages of the conformance tests are installed.
"""

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from app.adapters.local.hashing import HashingEmbedder
from app.bootstrap import DATABASE_FILE, build_runtime
from app.domain.embedding import encode
from app.domain.query import Filter, Query
from app.ports.embedder import Embedder
from app.runtime.runtime import Runtime
from app.services.memories.recall import search
from app.settings import load_settings
from bench.d1 import CountedD1, Read, installed, serving
from bench.data import SECRETS, messages, notes, one_agent, questions
from bench.prefill import prefill
from bench.report import Figure
from tests.support.doubles import FailingIndex

_SEED = 5
_SHORT, _QUESTIONS, _MESSAGES = 8, 16, 8
_WORDS_OF_SHORT = 3
_MOST_ROWS, _MOST_MS, _MOST_KB = 4000.0, 8.0, 30.0
_LIMITED = 10_000
_LARGE = 100_000
_MOST_TIMES = 2.0
"""The rows of ten times as many memories."""
_TOPICS = 10
_OF_SESSION = 20

# What a store has in life: sessions, metadata that a tenth of the memories share, and memories that were written when
# they were told, and not all at once.
_LIVELY = f"""
UPDATE long_term_memory SET session_id = 's' || (rowid / {_OF_SESSION}),
  metadata = json_object('topic', 't' || (rowid % {_TOPICS}), 'turn', rowid), written_at = created_at
"""
_QUEUE = """
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at, in_bulk)
SELECT tenant_id, agent_id, id, ?1, 'upsert', 1790000000000 + rowid, ?2, 9e15, 1 FROM long_term_memory
"""


@dataclass(frozen=True, slots=True)
class _Load:
    memories: int
    importing: bool = False
    filtered: bool = False

    @property
    def name(self) -> str:
        also = ", metadata filter" if self.filtered else ""
        return f"{self.memories // 1000}k in one agent{', all of an import pending' if self.importing else ''}{also}"

    @property
    def database(self) -> str:
        return f"rows-{self.memories}-{int(self.importing)}"


_LOADS = [
    _Load(1_000),
    _Load(_LIMITED),
    _Load(_LIMITED, filtered=True),
    _Load(_LIMITED, importing=True),
    _Load(_LIMITED, importing=True, filtered=True),
    _Load(_LARGE),
    _Load(_LARGE, filtered=True),
]


async def rows() -> list[Figure]:
    """Measure recalls of different length; no figures where the engine is not installed."""
    if not installed():
        return []
    read: dict[_Load, list[Read]] = {}
    with TemporaryDirectory(prefix="rows-") as directory:
        folders = await asyncio.to_thread(_fill, Path(directory))
        files = {name: folder / DATABASE_FILE for name, folder in folders.items()}
        with serving(files, Path(directory) / "engine") as url:
            for load in _LOADS:
                read[load] = await _recalls(load, folders[load.database], url)
    figures = [figure for load, reads in read.items() for figure in _figures(load, reads)]
    return [*figures, *(_growth(read, filtered=filtered) for filtered in (False, True))]


def not_measured() -> str:
    """Say why no rows are counted."""
    return "Rows read are not counted: node and workerd are not installed (`make conformance` does it)."


def _fill(directory: Path) -> dict[str, Path]:
    """Fill a data directory for each database."""
    folders: dict[str, Path] = {}
    for load in _LOADS:
        folder = directory / load.database
        if load.database not in folders:
            prefill(folder, "hashing", one_agent(), load.memories)
            with sqlite3.connect(folder / DATABASE_FILE) as connection:
                connection.execute(_LIVELY)
                if load.importing:
                    embedder: Embedder = HashingEmbedder()
                    vector = asyncio.run(embedder.embed(["a note"], "document")).vectors[0]
                    connection.execute(_QUEUE, (embedder.config.index_name, encode(vector)))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
            folders[load.database] = folder
    return folders


def _queries() -> Iterator[str]:
    """Give a few words, questions, and whole messages."""
    asked, told = questions(_SEED), notes(_SEED)
    for text in islice(told, _SHORT):
        yield " ".join(text.split()[2 : 2 + _WORDS_OF_SHORT])
    yield from islice(asked, _QUESTIONS)
    yield from islice(messages(_SEED + 1), _MESSAGES)


async def _recalls(load: _Load, folder: Path, url: str) -> list[Read]:
    """Recall with each query, and return what the runs that read candidates have read."""
    built = build_runtime(load_settings(data_dir=folder, embedder="hashing", auth_secrets=SECRETS))
    database = CountedD1(url, load.database)
    # The index is asked apart from the database, as Vectorize is over REST.
    backends = replace(built.backends, database=database, index=FailingIndex(built.backends.index))
    runtime = Runtime(
        backends, built.credentials, built.metrics, name=built.name, prepare_index=built.prepare_index,
        closers=[*built.closers, database.close], pace=built.pace,
    )  # fmt: skip
    await runtime.start()
    try:
        (scope,) = one_agent()
        tenant = backends.of_tenant(scope.tenant_id)
        where = Filter(metadata={"topic": "t3"}) if load.filtered else Filter()
        found = []
        for warm in (True, False):
            for text in _queries():
                database.reads.clear()
                await search(tenant, scope, Query(text, where=where))
                if not warm:
                    found.append(_sum([read for read in database.reads if "memory_words" in read.sql]))
        return found
    finally:
        await runtime.close()


def _sum(reads: Sequence[Read]) -> Read:
    return Read(
        sum(read.rows for read in reads), sum(read.milliseconds for read in reads), sum(read.size for read in reads), ""
    )


def _figures(load: _Load, reads: Sequence[Read]) -> list[Figure]:
    """Return what a recall reads. No recall may pass a limit of what is counted; of the time the median may not."""
    where = f"on D1's engine, {load.name}"
    rows, sizes = [float(read.rows) for read in reads], [read.size / 1000 for read in reads]
    times = [read.milliseconds for read in reads]
    most_rows, most_ms, most_kb = (_MOST_ROWS, _MOST_MS, _MOST_KB) if load.memories == _LIMITED else (None, None, None)
    return [
        Figure(f"rows read by a recall {where}", "rows", rows, limit=most_rows),
        Figure(f"most rows read by a recall {where}", "rows", [max(rows)], limit=most_rows),
        Figure(f"time of a recall {where}", "ms", times, limit=most_ms),
        Figure(f"answer to a recall {where}", "kB", sizes, limit=most_kb),
        Figure(f"largest answer to a recall {where}", "kB", [max(sizes)], limit=most_kb),
    ]


def _growth(read: Mapping[_Load, Sequence[Read]], *, filtered: bool) -> Figure:
    """Return how many times the rows each query reads where the agent has ten times as many memories."""
    small, large = (read[_Load(memories, filtered=filtered)] for memories in (_LIMITED, _LARGE))
    times = [many.rows / few.rows for few, many in zip(small, large, strict=True)]
    also = ", metadata filter" if filtered else ""
    name = f"rows read by a recall on D1's engine, {_LARGE // 1000}k over {_LIMITED // 1000}k in one agent{also}"
    return Figure(name, "x", times, limit=_MOST_TIMES)
