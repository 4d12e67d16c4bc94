"""Maps SQLite's result codes to errors (https://www.sqlite.org/rescode.html)."""

import re
import sqlite3

from app.domain.errors import DatabaseRejected, DatabaseUnavailable, MemoryGatewayError, StorageFull, StorageReadOnly
from app.ports.database import RunRefused

_PRIMARY = 0xFF
_UNAVAILABLE: dict[int, type[DatabaseUnavailable]] = {
    sqlite3.SQLITE_FULL: StorageFull,
    sqlite3.SQLITE_READONLY: StorageReadOnly,
    sqlite3.SQLITE_BUSY: DatabaseUnavailable,
    sqlite3.SQLITE_LOCKED: DatabaseUnavailable,
    sqlite3.SQLITE_IOERR: DatabaseUnavailable,
    sqlite3.SQLITE_CANTOPEN: DatabaseUnavailable,
    sqlite3.SQLITE_PERM: DatabaseUnavailable,
    sqlite3.SQLITE_NOMEM: DatabaseUnavailable,
    sqlite3.SQLITE_PROTOCOL: DatabaseUnavailable,
    sqlite3.SQLITE_CORRUPT: DatabaseUnavailable,
    sqlite3.SQLITE_NOTADB: DatabaseUnavailable,
}
# SQLite reports FULL only for ENOSPC: a disk quota or a limit on file sizes appears as a failed write.
_NO_ROOM = {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
_REASON = re.compile("[a-z_]+")
_SAYS = {
    StorageFull: "The data cannot be written: the disk, or a limit on it, is full.",
    StorageReadOnly: "The data directory cannot be written.",
    DatabaseUnavailable: "The database file cannot be used.",
}


def _code(error: sqlite3.Error) -> int:
    """Return the primary result code; an error raised by the sqlite3 module itself has none."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY


def _kind(error: sqlite3.Error) -> type[DatabaseUnavailable] | None:
    if getattr(error, "sqlite_errorcode", None) in _NO_ROOM:
        return StorageFull
    return _UNAVAILABLE.get(_code(error))


def mapped(error: sqlite3.Error) -> MemoryGatewayError:
    """Return the error of ``app.domain.errors`` for an error of SQLite."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CONSTRAINT_TRIGGER and _REASON.fullmatch(str(error)):
        return RunRefused(str(error))
    if interrupted(error):
        return too_slow()
    kind = _kind(error)
    if kind is None:
        return DatabaseRejected(f"The database refused a statement: {error}")
    return kind(f"{_SAYS[kind]} ({error})")


def interrupted(error: sqlite3.Error) -> bool:
    """Return whether a statement was stopped because it took too long."""
    return _code(error) == sqlite3.SQLITE_INTERRUPT


def too_slow() -> DatabaseUnavailable:
    """Return the error of a read that took too long."""
    return DatabaseUnavailable("The read took too long and was stopped. Ask for less.")


def closes_connection(error: sqlite3.Error) -> bool:
    """Return whether the file failed rather than the statement, so that it should be reopened."""
    return _code(error) in _UNAVAILABLE


def read_only(error: sqlite3.Error) -> bool:
    """Return whether the file could not be written because a permission is missing."""
    return _code(error) == sqlite3.SQLITE_READONLY
