"""Keeps what the double was told, so that it can be told again when it is started anew.

D1 keeps its own files; everything else (names, vectors) is a sequence of events in one SQLite file.
"""

import sqlite3
import threading
from pathlib import Path

import orjson

_SCHEMA = """
CREATE TABLE IF NOT EXISTS event (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  store TEXT NOT NULL,
  kind TEXT NOT NULL,
  facts TEXT NOT NULL,
  content BLOB NOT NULL
) STRICT
"""


class Journal:
    """Events in the order they happened; without a directory it keeps nothing. Safe from any thread."""

    def __init__(self, directory: Path | None) -> None:
        """Open the file in the directory, or make it."""
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                directory / "account.sqlite", isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(_SCHEMA)

    def record(self, store: str, kind: str, facts: dict[str, object], content: bytes = b"") -> None:
        """Append one event."""
        if self._connection is None:
            return
        with self._lock:
            self._connection.execute(
                "INSERT INTO event (store, kind, facts, content) VALUES (?, ?, ?, ?)",
                (store, kind, orjson.dumps(facts).decode(), content),
            )

    def events(self, store: str) -> list[tuple[str, dict[str, object], bytes]]:
        """Return a store's events: kind, facts, content."""
        if self._connection is None:
            return []
        with self._lock:
            rows = self._connection.execute(
                "SELECT kind, facts, content FROM event WHERE store = ? ORDER BY number", (store,)
            ).fetchall()
        return [(kind, orjson.loads(facts), content) for kind, facts, content in rows]

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
