"""Statements that merge the b-trees of the index of words (https://www.sqlite.org/fts5.html#the_merge_command).

The index has the words of all tenants, so these cross tenants.
"""

from collections.abc import Sequence

from app.ports.database import Row, Statement

_B_TREES = Statement.read("SELECT hex(block) AS b_trees FROM memory_words_data WHERE id = 10")
"""FTS5's own record of its b-trees, which each merge changes (FTS5_STRUCTURE_ROWID in SQLite's fts5_index.c)."""
_MERGE = Statement.write("INSERT INTO memory_words (memory_words, rank) VALUES ('merge', 200)")
"""Writes about 200 pages at most, which takes some milliseconds."""

MERGE_STEP = (_B_TREES, _MERGE, _B_TREES)
"""One step of a merge. Two steps at once do no harm."""


def has_merged(answers: Sequence[Sequence[Row]]) -> bool:
    """Tell from the answers to ``MERGE_STEP`` whether there was something to merge."""
    before, _, after = answers
    return list(before) != list(after)
