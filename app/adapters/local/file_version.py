"""Tells without a thread whether anybody has written to a SQLite file since an earlier moment."""

import threading
from collections.abc import Callable

import apsw

from app.domain.errors import DatabaseLost

_VERSION = "PRAGMA data_version"
"""Changes for a connection when another one, of this process or of another, has committed; it takes microseconds."""

Version = tuple[int, int]


class FileVersion:
    """The version of a file's data, as a connection that writes nothing sees it."""

    def __init__(self, open_connection: Callable[[], apsw.Connection], check: Callable[[], None]) -> None:
        """Take what opens a connection, and what raises ``DatabaseLost`` where the file is gone."""
        self._open = open_connection
        self._check = check
        self._connection: apsw.Connection | None = None
        self._opened = 0
        """How often a connection was opened: each counts anew."""
        self._lock = threading.Lock()

    def read(self) -> Version | None:
        """Return a value that stays the same while nobody commits; None where the file does not tell now."""
        with self._lock:
            try:
                self._check()
                if self._connection is None:
                    self._connection = self._open()
                    self._connection.set_busy_timeout(0)  # the caller is the event loop
                    self._opened += 1
                return self._opened, self._connection.execute(_VERSION).get
            except (apsw.Error, DatabaseLost):
                self._close()
                return None

    def close(self) -> None:
        """Close the connection; the next reading opens another."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close(force=True)
            self._connection = None
