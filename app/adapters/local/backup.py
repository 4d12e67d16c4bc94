"""Copies a database file as it is at one moment, while others write it."""

import os
from contextlib import closing
from pathlib import Path

import apsw

from app.adapters.local.sqlite_errors import mapped
from app.domain.errors import DatabaseRejected


def back_up(path: Path, target: Path) -> int:
    """Copy a database file to a new file, which its owner alone may read, check the copy, and return its bytes.

    The copy holds what was committed before it began, and nothing that came later. Services go on reading and writing.
    SQLite's own copy is taken: the file without its log is not the database (https://www.sqlite.org/backup.html).

    Raises:
        StorageFull: there is no room for the copy.
        DatabaseRejected: the copy is damaged, as the file itself then is.
        DatabaseUnavailable: the file cannot be read, or the copy cannot be written.
    """
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with (
            closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as source,
            closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)) as copy,
        ):
            with copy.backup("main", source, "main") as backup:
                backup.step()
            flaw = copy.execute("PRAGMA quick_check(1)").get
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # so that the copy is one file
    except apsw.Error as error:
        raise mapped(error) from error
    if flaw != "ok":
        raise DatabaseRejected(f"The copy of {path.name} is damaged: {flaw}.")
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return target.stat().st_size
