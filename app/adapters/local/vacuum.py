"""Gives the room that deletions have left in a database file back to the disk.

SQLite uses such room again, and never makes the file smaller by itself (https://www.sqlite.org/lang_vacuum.html).
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from app.adapters.local.sqlite_errors import mapped
from app.domain.errors import Conflict, StorageFull

_TEMPORARY = ("SQLITE_TMPDIR", "TMPDIR")
_TEMPORARY_FOLDERS = ("/var/tmp", "/usr/tmp", "/tmp", ".")  # noqa: S108 - where SQLite puts its temporary files
_SPARE_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class FileRoom:
    """The bytes of a file, and how many of these are free."""

    size: int
    free: int

    @property
    def share(self) -> float:
        """The part of the file that is free, from 0 to 1."""
        return self.free / self.size if self.size else 0.0


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """The bytes of a file, and of its log, before and after."""

    before: int
    after: int


def file_room(path: Path) -> FileRoom:
    """Read how many bytes of a file are free; a service may use the file meanwhile.

    Raises:
        DatabaseUnavailable: the file cannot be read.
    """
    with _refused(), closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return _room(connection)


def vacuum(path: Path) -> Vacuumed:
    """Write a file anew without the room that is free.

    No other process may have the file open, because it would wait for the whole time. A process that opens the file
    meanwhile finds it locked, and tries again. A crash leaves the file as it was.

    Raises:
        Conflict: another process has the file open.
        StorageFull: there is no room for a copy of the data in the folder of temporary files, or for two in the file's.
        DatabaseUnavailable: the file cannot be read or written.
    """
    before = _bytes(path)
    with _refused(), closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(0)
        _take_alone(connection)
        room = _room(connection)
        _check_disk(path, room.size - room.free)
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return Vacuumed(before, _bytes(path))


def _take_alone(connection: apsw.Connection) -> None:
    """Lock the file against every other process until the connection is closed.

    In this mode a connection keeps its locks, and none is given while another process has the file open.
    """
    connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
    try:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except apsw.BusyError as error:
        raise Conflict("Another process has the database open. Stop the service, then run this again.") from error


def _check_disk(path: Path, used: int) -> None:
    """Return if there is room for the copy that SQLite makes, and for the log through which it is put in place."""
    temporary = _temporary_folder()
    needed = {path.parent: 2 * used, temporary: used}
    if temporary.stat().st_dev == path.parent.stat().st_dev:
        needed = {path.parent: 3 * used}
    for folder, size in needed.items():
        if (free := shutil.disk_usage(folder).free) < size + _SPARE_BYTES:
            raise StorageFull(
                f"{folder} needs {(size + _SPARE_BYTES) / 1e6:.0f} MB free for this, and has {free / 1e6:.0f} MB. "
                "Nothing was changed. SQLITE_TMPDIR names another folder for the temporary file."
            )


def _temporary_folder() -> Path:
    """Return where SQLite puts temporary files: the first of these that can be written (os_unix.c)."""
    named = [os.environ[name] for name in _TEMPORARY if os.environ.get(name)]
    folders = (Path(name) for name in (*named, *_TEMPORARY_FOLDERS))
    return next(folder for folder in folders if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK))


def _room(connection: apsw.Connection) -> FileRoom:
    pages, free, size = (
        int(connection.execute(f"PRAGMA {name}").get) for name in ("page_count", "freelist_count", "page_size")
    )
    return FileRoom(pages * size, free * size)


def _bytes(path: Path) -> int:
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise mapped(error) from error
