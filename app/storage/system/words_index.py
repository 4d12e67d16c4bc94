"""Statements that merge the b-trees of the index of words (https://www.sqlite.org/fts5.html#the_merge_command).

The index has the words of all tenants, so these cross tenants.
"""

from collections.abc import Sequence

from app.ports.database import Row, Statement

_B_TREES = Statement.read("SELECT hex(block) AS b_trees FROM memory_words_data WHERE id = 10")
"""FTS5's own record of its b-trees, which each merge changes (FTS5_STRUCTURE_ROWID in SQLite's fts5_index.c)."""
_MERGE = "INSERT INTO memory_words (memory_words, rank) VALUES ('merge', {pages})"
_PAGES, _PAGES_WRITTEN_ANEW = 200, 1000
"""How many pages a step writes at most: some milliseconds; where all are written anew about 70, for fewer calls."""

MERGE_STEP = (
    Statement.read("SELECT old_blocks FROM words_index"),
    _B_TREES,
    Statement.write(_MERGE.format(pages=_PAGES)),
    _B_TREES,
)
"""One step of a merge, behind the state of the index. Two steps at once do no harm."""

_WRITE = Statement.write(_MERGE.format(pages=_PAGES_WRITTEN_ANEW))
GO_ON_WRITING = (_WRITE, _B_TREES, _WRITE, _B_TREES)
"""The next steps of writing all blocks of the index anew: the second has nothing to do where all are written."""

# FTS5 leaves a single b-tree as it is. With a memory that is indexed once more there are two; where there is no memory,
# all goes. A negative number has FTS5 merge all b-trees into one, and steps with a positive number go on with that.
_NEWEST = "scope, content, segments FROM memory_words_source ORDER BY number DESC LIMIT 1"
_BEGIN_WRITING = (
    f"INSERT INTO memory_words (memory_words, rowid, scope, content, segments) SELECT 'delete', number, {_NEWEST}",
    f"INSERT INTO memory_words (rowid, scope, content, segments) SELECT number, {_NEWEST}",
    "INSERT INTO memory_words (memory_words) SELECT 'delete-all' WHERE NOT EXISTS (SELECT 1 FROM memory_number)",
    _MERGE.format(pages=-_PAGES_WRITTEN_ANEW),
)

WRITE_ANEW = (*map(Statement.write, _BEGIN_WRITING), *GO_ON_WRITING)
"""Begin to write all blocks anew, without the words of deleted memories and what separated these from others."""
WRITE_OLD_BLOCKS = (Statement.write("UPDATE words_index SET old_blocks = 1 WHERE old_blocks = 2"), *WRITE_ANEW)
OLD_BLOCKS_WRITTEN = Statement.write("UPDATE words_index SET old_blocks = 0 WHERE old_blocks = 1")


def has_merged(answers: Sequence[Sequence[Row]]) -> bool:
    """Tell from the answers to a run that ends with a step whether there was something to merge."""
    *_, before, _, after = answers
    return list(before) != list(after)


def old_blocks(answers: Sequence[Sequence[Row]]) -> int:
    """Return the state of old blocks from the answers to ``MERGE_STEP``: 1: they are written anew, 2: soon."""
    ((state,), *_) = answers
    return int(str(state["old_blocks"]))
