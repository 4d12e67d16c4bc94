"""Maps SQLite's result codes to errors (https://www.sqlite.org/rescode.html)."""

import re

import apsw

from app.domain.errors import DatabaseRejected, DatabaseUnavailable, MemoryGatewayError, StorageFull, StorageReadOnly
from app.ports.database import RunRefused, WordsDamaged

_UNAVAILABLE: dict[int, type[DatabaseUnavailable]] = {
    apsw.SQLITE_FULL: StorageFull,
    apsw.SQLITE_READONLY: StorageReadOnly,
    apsw.SQLITE_BUSY: DatabaseUnavailable,
    apsw.SQLITE_LOCKED: DatabaseUnavailable,
    apsw.SQLITE_IOERR: DatabaseUnavailable,
    apsw.SQLITE_CANTOPEN: DatabaseUnavailable,
    apsw.SQLITE_PERM: DatabaseUnavailable,
    apsw.SQLITE_NOMEM: DatabaseUnavailable,
    apsw.SQLITE_PROTOCOL: DatabaseUnavailable,
    apsw.SQLITE_CORRUPT: DatabaseUnavailable,
    apsw.SQLITE_NOTADB: DatabaseUnavailable,
}
# SQLite reports FULL only for ENOSPC: a disk quota or a limit on file sizes appears as a failed write.
_NO_ROOM = {apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_SHMSIZE}
_OTHER_FORMAT = "invalid fts5 file format"
"""FTS5's message where its own settings are lost; the error has no code of its own then."""
_REASON = re.compile("[a-z_]+")
_SAYS = {
    StorageFull: "The data cannot be written: the disk, or a limit on it, is full.",
    StorageReadOnly: "The data directory cannot be written.",
    DatabaseUnavailable: "The database file cannot be used.",
}


def _code(error: Exception) -> int:
    """Return the primary result code; an error that SQLite has not raised has none."""
    return getattr(error, "result", apsw.SQLITE_ERROR)


def _kind(error: apsw.Error) -> type[DatabaseUnavailable] | None:
    if getattr(error, "extendedresult", None) in _NO_ROOM:
        return StorageFull
    return _UNAVAILABLE.get(_code(error))


def mapped(error: Exception) -> Exception:
    """Return the error of ``app.domain.errors`` for an error of SQLite or of its data, else the error itself."""
    if isinstance(error, UnicodeDecodeError):
        return DatabaseRejected(f"A text in the database is not UTF-8: {error}")
    return _of_sqlite(error) if isinstance(error, apsw.Error) else error


def _of_sqlite(error: apsw.Error) -> MemoryGatewayError:
    if getattr(error, "extendedresult", None) == apsw.SQLITE_CONSTRAINT_TRIGGER and _REASON.fullmatch(str(error)):
        return RunRefused(str(error))
    if interrupted(error):
        return too_slow()
    if words_damaged(error):
        return WordsDamaged(f"The index of words is damaged: {error}")
    kind = _kind(error)
    if kind is None:
        return DatabaseRejected(f"The database refused a statement: {error}")
    return kind(f"{_SAYS[kind]} ({error})")


def interrupted(error: apsw.Error) -> bool:
    """Return whether a read was stopped because it took too long."""
    return isinstance(error, apsw.InterruptError)


def words_damaged(error: Exception) -> bool:
    """Return whether FTS5 could not read its blocks: the index of words is the only virtual table."""
    corrupt = getattr(error, "extendedresult", None) == apsw.SQLITE_CORRUPT_VTAB
    return corrupt or (isinstance(error, apsw.Error) and _OTHER_FORMAT in str(error))


def too_slow() -> DatabaseUnavailable:
    """Return the error of a read that took too long."""
    return DatabaseUnavailable("The read took too long and was stopped. Ask for less.")


def closes_connection(error: Exception) -> bool:
    """Return whether the file failed rather than the statement, so that it should be reopened."""
    return not isinstance(error, apsw.Error) or (_code(error) in _UNAVAILABLE and not words_damaged(error))


def read_only(error: Exception) -> bool:
    """Return whether the file could not be written because a permission is missing."""
    return _code(error) == apsw.SQLITE_READONLY
