"""Plain BM25: SQLite's FTS5 with its own ranking, in this process. What a recall has to beat."""

import re
import sqlite3

from bench.quality.dataset import Memory
from bench.quality.service import Answer, ranked

_WORD = re.compile(r"\w+")
_TABLE = "CREATE VIRTUAL TABLE memory USING fts5 (content, turn_id UNINDEXED, tokenize = 'porter unicode61')"
_BEST = "SELECT turn_id, -bm25(memory) FROM memory WHERE memory MATCH ? ORDER BY bm25(memory) LIMIT ?"


class Bm25:
    """One table for each conversation; a question is any of its words."""

    def __init__(self) -> None:
        """Begin empty."""
        self._tables: dict[str, sqlite3.Connection] = {}

    async def store(self, namespace: str, memory: Memory) -> None:
        """Keep the text."""
        self._table(namespace).execute("INSERT INTO memory VALUES (?, ?)", (memory.content, memory.turn_id))

    async def ready(self, namespace: str) -> None:
        """Return at once: what is stored is searched."""

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        """Return the best by the words of the question."""
        del at
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(question.lower())))
        rows = self._table(namespace).execute(_BEST, (words, top_k)).fetchall() if words else []
        return Answer(ranked([turn_id for turn_id, _ in rows]), top_score=rows[0][1] if rows else None)

    def _table(self, namespace: str) -> sqlite3.Connection:
        """Return what holds a conversation; a question may come before anything is told."""
        if namespace not in self._tables:
            self._tables[namespace] = sqlite3.connect(":memory:")
            self._tables[namespace].execute(_TABLE)
        return self._tables[namespace]
