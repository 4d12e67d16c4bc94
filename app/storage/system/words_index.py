"""Statements that merge the b-trees of the index of words, and make it again (https://www.sqlite.org/fts5.html).

The index has the words of all tenants, so these statements cross tenants. It is made of the memories, and can be made
again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ports.database import Row, Statement
from app.storage.damaged_words import ALL_INDEXED
from app.storage.rows import read_row

_B_TREES = Statement.read("SELECT (SELECT hex(block) FROM memory_words_data WHERE id = 10) AS b_trees")
"""FTS5's own record of its b-trees, which each merge changes (FTS5_STRUCTURE_ROWID in SQLite's fts5_index.c)."""
_MERGE = "INSERT INTO memory_words (memory_words, rank) SELECT 'merge', {pages} FROM words_index WHERE indexed_to >= 0"
_PAGES, _PAGES_WRITTEN_ANEW = 200, 1000
"""Pages that a step writes at most, which takes some milliseconds, or about 70 where all blocks are written anew."""

# Whether the index lacks memories that it should have. The first memory, the last and one between are looked up, and
# whether there is any block (the rows 1 and 10 are averages and the structure of b-trees).
_LOST = """
EXISTS (
  SELECT 1 FROM (
    SELECT min(number) AS number FROM memory_number
    UNION ALL SELECT max(number) FROM memory_number WHERE number <= indexed_to
    UNION ALL SELECT min(number) FROM memory_number
      WHERE number >= (SELECT abs(random() % (max(number) + 1)) FROM memory_number)
  ) AS sampled
  WHERE sampled.number <= indexed_to AND (
    NOT EXISTS (SELECT 1 FROM memory_words_docsize WHERE id = sampled.number)
    OR NOT EXISTS (SELECT 1 FROM memory_words_data WHERE id > 10)
  )
) AS lost
"""
READ_STATE = Statement.read(f"SELECT old_blocks, indexed_to, {_LOST} FROM words_index")

MERGE_STEP = (READ_STATE, _B_TREES, Statement.write(_MERGE.format(pages=_PAGES)), _B_TREES)
"""One step of a merge, after a read of the state of the index. Two steps at once do no harm."""

_WRITE = Statement.write(_MERGE.format(pages=_PAGES_WRITTEN_ANEW))
GO_ON_WRITING = (READ_STATE, _WRITE, _B_TREES, _WRITE, _B_TREES)
"""The next steps of writing all blocks of the index anew: the second has nothing to do where all are written."""

# FTS5 leaves a single b-tree as it is. A memory that is indexed once more makes a second b-tree; where there is no
# memory, the whole index is emptied. A negative number makes FTS5 merge all b-trees into one, and steps with a positive
# number go on with that.
_NEWEST = """
scope, content, segments FROM memory_words_source WHERE number <= (SELECT indexed_to FROM words_index)
ORDER BY number DESC LIMIT 1
"""
_BEGIN_WRITING = (
    f"INSERT INTO memory_words (memory_words, rowid, scope, content, segments) SELECT 'delete', number, {_NEWEST}",
    f"INSERT INTO memory_words (rowid, scope, content, segments) SELECT number, {_NEWEST}",
    """
INSERT INTO memory_words (memory_words) SELECT 'delete-all' FROM words_index
WHERE indexed_to >= 0 AND NOT EXISTS (SELECT 1 FROM memory_number)
""",
    _MERGE.format(pages=-_PAGES_WRITTEN_ANEW),
)

WRITE_ANEW = (GO_ON_WRITING[0], *map(Statement.write, _BEGIN_WRITING), *GO_ON_WRITING[1:])
"""Begin to write all blocks anew, without words of deleted memories and without their letters between two blocks."""
WRITE_OLD_BLOCKS = (
    Statement.write("UPDATE words_index SET old_blocks = 1 WHERE old_blocks = 2 AND indexed_to >= 0"),
    *WRITE_ANEW,
)
OLD_BLOCKS_WRITTEN = Statement.write("UPDATE words_index SET old_blocks = 0 WHERE old_blocks = 1")

# These statements make and set the index as schema.sql does.
RESET = tuple(
    Statement.write(sql)
    for sql in (
        "DROP TABLE IF EXISTS memory_words",
        """
CREATE VIRTUAL TABLE memory_words USING fts5 (
  scope, content, segments,
  content = 'memory_words_source', content_rowid = 'number',
  tokenize = 'porter unicode61 remove_diacritics 2'
)
""",
        "INSERT INTO memory_words (memory_words, rank) VALUES ('rank', 'bm25(0, 1, 1)')",
        "INSERT INTO memory_words (memory_words, rank) VALUES ('usermerge', 2)",
        """
INSERT INTO memory_words (memory_words, rank) SELECT 'secure-delete', 1 WHERE strftime('%f', 0, 'subsec') IS NOT NULL
""",
        "UPDATE words_index SET indexed_to = 0, old_blocks = 0",
    )
)
"""Make the index anew and empty."""

_MEMORIES, _BYTES = 2000, 1_000_000
_NEXT = f"""
SELECT number FROM (
  SELECT number, sum(bytes) OVER (ORDER BY number) - bytes AS before FROM (
    SELECT number, bytes FROM memory_number, words_index WHERE number > indexed_to ORDER BY number LIMIT {_MEMORIES}
  )
) WHERE before < {_BYTES}
"""
REFILL_STEP = (
    Statement.write(f"""
INSERT INTO memory_words (rowid, scope, content, segments)
SELECT number, scope, content, segments FROM memory_words_source
WHERE number IN ({_NEXT}) AND (SELECT indexed_to FROM words_index) >= 0
"""),
    Statement.write(f"""
UPDATE words_index SET indexed_to = coalesce((SELECT max(number) FROM ({_NEXT})), {ALL_INDEXED})
WHERE indexed_to BETWEEN 0 AND {ALL_INDEXED - 1}
"""),
    READ_STATE,
)
"""Index the next memories, which takes some tens of milliseconds, and read the state."""

COUNT = Statement.read("""
SELECT count(*) AS memories, count(*) FILTER (
  WHERE number > indexed_to OR NOT EXISTS (SELECT 1 FROM memory_words_docsize WHERE memory_words_docsize.id = number)
) AS missing
FROM words_index CROSS JOIN memory_number
""")
"""Counts the memories, and those of them that are not in the index."""
CHECK_BLOCKS = Statement.write("INSERT INTO memory_words (memory_words) VALUES ('integrity-check')")
"""Have FTS5 check its blocks; ``WordsDamaged`` where they are damaged. It takes 0.3 s for 100,000 memories."""
CHECK_WORDS = Statement.write("INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)")
"""Have FTS5 compare its blocks with the memories, too, which takes seven times as long."""


@dataclass(frozen=True, slots=True)
class WordsState:
    """The state of the index of words.

    ``old_blocks``: whether the index may have words that were not deleted securely: 2: yes; 1: these blocks are being
    written anew. ``indexed_to``: the number of the last memory in the index. ``lost``: memories up to that one are
    missing.
    """

    old_blocks: int
    indexed_to: int
    lost: bool

    @property
    def damaged(self) -> bool:
        """Whether the index has to be made anew before anything else."""
        return self.indexed_to < 0 or self.lost

    @property
    def complete(self) -> bool:
        """Whether all memories are in the index."""
        return not self.damaged and self.indexed_to == ALL_INDEXED


@dataclass(frozen=True, slots=True)
class WordsCount:
    """How many memories there are, and how many of them are not in the index of words."""

    memories: int
    missing: int


def read_state(rows: Sequence[Row]) -> WordsState:
    """Read the answer to the statement of a run that reads the state."""
    return read_row(WordsState, rows[0])


def has_merged(answers: Sequence[Sequence[Row]]) -> bool:
    """Return whether the last step of a run merged b-trees, by the answers to the run."""
    *_, before, _, after = answers
    return list(before) != list(after)
