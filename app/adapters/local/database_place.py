"""The place of a database file: it is made there once, and where it is missing later it is lost, and not new."""

import os
import secrets
import threading
from contextlib import closing, suppress
from pathlib import Path

import apsw

from app.domain.errors import DatabaseLost

_MARK_TEXT = """\
The database {name} was made in this folder. If it is missing, it was lost: put it back, from a backup if need be.
To begin anew without what it held, remove this file, and {name} if it is there.
"""
_Identity = tuple[int, int]


class DatabasePlace:
    """Makes a database file where there was none, and says so where one that was there is not any more.

    A file beside it, with ``-made`` after its name, tells a place where it was made from a new one.
    """

    def __init__(self, path: Path) -> None:
        """Take the path of the file; nothing is read or written yet."""
        self._path = path
        self._identity: _Identity | None = None
        """Device and number of the file that this process has opened first."""
        self._making = threading.Lock()

    def check(self) -> None:
        """Return if the file is the one that this process has opened first; the first time, make it where it is new.

        Raises:
            DatabaseLost: it is missing, has no bytes, or is another one than before.
            apsw.Error: it cannot be made.
        """
        if self._path.name == ":memory:":  # SQLite's name for no file
            return
        if self._identity is None:
            with self._making:
                self._begin()
        elif (found := _identity(self._path)) != self._identity:
            raise lost(self._path, "is another one than before" if found else "is missing")

    def _begin(self) -> None:
        if (reason := missing(self._path)) is not None:
            raise lost(self._path, reason)
        if not self._path.exists():
            with suppress(OSError):  # SQLite says why it cannot be made
                _make(self._path)
        with suppress(OSError):  # data that may not be written
            _mark_of(self._path).touch(mode=0o600)
            if not _mark_of(self._path).stat().st_size:
                _mark_of(self._path).write_text(_MARK_TEXT.format(name=self._path.name), "utf-8")
        self._identity = _identity(self._path)


def missing(path: Path) -> str | None:
    """Return how a database that was there is not any more; None where it is there, or where none ever was."""
    # This comes first: another process may be making it just now, and makes the file before the mark.
    made = _mark_of(path).exists() or path.with_name(f"{path.name}-wal").exists()
    try:
        return None if path.stat().st_size else "has no bytes"
    except FileNotFoundError:
        return "is missing" if made else None
    except OSError:  # SQLite says why it cannot be reached
        return None


def lost(path: Path, reason: str) -> DatabaseLost:
    """Return the error of a database that is lost; it names no folder, since readiness tells everyone of it."""
    mark = _mark_of(path).name
    return DatabaseLost(
        f"The database file {path.name} {reason}, and nothing is made in its place.",
        cure="Put it back, from a backup if need be, and restart the service. To begin anew without what it held, "
        f"remove {path.name} and {mark} if they are there, and restart.",
    )


def _mark_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-made")


def _identity(path: Path) -> _Identity | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _make(path: Path) -> None:
    """Make the file, for this user alone; SQLite gives the files beside it the same mode.

    It has its first page before it has its name: a process may be killed at any moment, and leaves none of 0 bytes.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(apsw.Connection(str(draft))) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        with suppress(FileExistsError):  # another process was first
            path.hardlink_to(draft)
    finally:
        draft.unlink()
