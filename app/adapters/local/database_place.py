"""The place of a database file: the file is made there once, and a file that is missing later is lost, not new."""

import os
import secrets
import stat
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
_OF_OTHERS = 0o077


class DatabasePlace:
    """Makes a database file where there was none, and reports where a file that was there is missing.

    A mark beside the file, with ``-made`` after its name, tells a place where the file was made from a new place.
    """

    def __init__(self, path: Path) -> None:
        """Take the path of the file; nothing is read or written yet."""
        self._path = path
        self._identity: _Identity | None = None
        """Device and number of the file that this process has opened first."""
        self._making = threading.Lock()

    def check(self) -> None:
        """Return if the file is the one that this process opened first; the first time, make the file if it is new.

        Raises:
            DatabaseLost: the file is missing, has no bytes, or is another file than before.
            apsw.Error: the file cannot be made.
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
        with suppress(OSError):  # the folder may be read-only
            _mark_of(self._path).touch(mode=0o600)
            if not _mark_of(self._path).stat().st_size:
                _mark_of(self._path).write_text(_MARK_TEXT.format(name=self._path.name), "utf-8")
        self._identity = _identity(self._path)


def missing(path: Path) -> str | None:
    """Return how a database file was lost; None where the file is there, or where there never was one."""
    # This comes first: another process may be making the database just now, and makes the file before the mark.
    made = _mark_of(path).exists() or path.with_name(f"{path.name}-wal").exists()
    try:
        return None if path.stat().st_size else "has no bytes"
    except FileNotFoundError:
        return "is missing" if made else None
    except OSError:  # SQLite says why it cannot be reached
        return None


def lost(path: Path, reason: str) -> DatabaseLost:
    """Return the error of a database that is lost; it names no folder, because readiness shows it to everyone."""
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

    The file has its first page before its name: a process that is killed at any moment leaves no file of 0 bytes.
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


def open_to_others(path: Path) -> list[str]:
    """Return which of a database's folder and files other users of this machine can reach, with their modes."""
    names = [path.parent, *(path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm"))]
    modes = {name: mode for name in names if (mode := _mode(name)) is not None}
    return [f"{name} ({mode:04o})" for name, mode in modes.items() if mode & _OF_OTHERS]


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:  # it is not there, or SQLite says why it cannot be reached
        return None
