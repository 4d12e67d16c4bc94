"""A database at the newest schema, ready to be copied: migrating an empty one takes longer than most tests.

It has the cosine scale of the hashing embedder, which a first start would measure.
"""

import asyncio
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import apsw

from app.adapters.local.hashing import HashingEmbedder
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.bootstrap import DATABASE_FILE
from app.indexing.cosine_scales import CosineScales
from app.storage.migrations.runner import migrate

_JOURNAL_MODES = slice(18, 20)
_NO_WAL = b"\x01\x01"
"""The two bytes of a file's header that say whether it has a write-ahead log (https://www.sqlite.org/fileformat.html).

A database in memory cannot have one.
"""


def prepare(data_dir: Path) -> None:
    """Put a migrated database into a directory that has none, with the tables of the index that lies beside it.

    Where a start made these, every open connection would have to read the whole schema again.
    """
    path = data_dir / DATABASE_FILE
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        path.touch(0o600)
        path.write_bytes(_file(indexed=True))


@cache
def image() -> bytes:
    """Return the database in a form that can be held in memory."""
    made = bytearray(_file(indexed=False))
    made[_JOURNAL_MODES] = _NO_WAL
    return bytes(made)


def load(connection: apsw.Connection) -> None:
    """Make an open, empty database in memory a migrated one."""
    connection.deserialize("main", image())


@cache
def _file(*, indexed: bool) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / DATABASE_FILE
        maker = Thread(
            target=asyncio.run, args=[_migrate(path, indexed=indexed)]
        )  # who asks may have a loop of its own
        maker.start()
        maker.join()
        return path.read_bytes()


async def _migrate(path: Path, *, indexed: bool) -> None:
    file = SqliteFile(path)
    try:
        database, embedder = SqliteDatabase(file), HashingEmbedder()
        await migrate(database)
        await CosineScales(database).find(embedder.config, embedder)
        if indexed:
            await SqliteVectorIndex(file, embedder.config, cache_bytes=0).prepare()
    finally:
        await file.close()
