"""What becomes of the indexes beside the memories, where a disk, a kill or another hand damages them."""

from app.ports.database import Statement
from tests.support.tables import Source, database_of, delete_rows, insert_rows, rows_of, set_rows

_ZEROS = "UPDATE memory_words_data SET block = zeroblob(length(block)) WHERE id > 10"
_EMPTIED = "INSERT INTO memory_words (memory_words) VALUES ('delete-all')"
WORDS = {
    "blocks of zeros": _ZEROS,
    "blocks cut short": "UPDATE memory_words_data SET block = substr(block, 1, length(block) / 2) WHERE id > 10",
    "blocks gone": "DELETE FROM memory_words_data WHERE id > 10",
    "everything gone": "DELETE FROM memory_words_data",
    "no averages": "DELETE FROM memory_words_data WHERE id = 1",
    "no settings": "DELETE FROM memory_words_config",
    "emptied": _EMPTIED,
}
_NOT_A_NUMBER = "UPDATE local_vector SET vector = unhex(replace(hex(zeroblob(length(vector) / 4)), '00', '0000C07F'))"
VECTORS = {
    "cut vector": "UPDATE local_vector SET vector = substr(vector, 1, 10)",
    "vector of no numbers": _NOT_A_NUMBER,
    "vector with an infinite number": "UPDATE local_vector SET vector = unhex('0000807F' || substr(hex(vector), 9))",
    "cut vector in the outbox": "UPDATE outbox SET vector = substr(vector, 1, 12)",
}
_CHECK = "INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)"
_FORGOTTEN = """
INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
SELECT 'delete', number, scope, content, segments FROM memory_words_source WHERE number > ?1 ->> 'number'
"""


async def damage(source: Source, how: str, *, id_: str | None = None) -> None:
    """Damage the index of words, or the vectors of all memories or of one, as ``WORDS`` and ``VECTORS`` name it."""
    sql = (WORDS | VECTORS)[how] + ("" if id_ is None else " WHERE id = ?1 ->> 'id'")
    await database_of(source).run([Statement(sql, None if id_ is None else {"id": id_}, writes=True)])


async def indexed_half(source: Source, id_: str) -> None:
    """Leave the index of words as one that is being made and has come as far as this memory."""
    ((row),) = await rows_of(source, "memory_number", "number", id=id_)
    number = row["number"]
    indexed_to = Statement.write("UPDATE words_index SET indexed_to = ?1 ->> 'number'", number=number)
    await database_of(source).run([Statement.write(_FORGOTTEN, number=number), indexed_to])


async def check_words(source: Source) -> None:
    """Compare the index of words with the memories.

    Raises:
        DatabaseRejected: they differ.
    """
    await database_of(source).run([Statement(_CHECK, writes=True)])


async def with_word(source: Source, word: str) -> int:
    """Count what the index of words has of a word."""
    sql = "SELECT count(*) AS n FROM memory_words WHERE memory_words MATCH ?1 ->> 'word'"
    ((row,),) = await database_of(source).run([Statement.read(sql, word=word)])
    return int(row["n"] or 0)


async def lose_index(source: Source, id_: str | None = None) -> None:
    """Have the index beside the database forget all vectors, or one, and nothing wait for it."""
    await delete_rows(source, "local_vector", **({} if id_ is None else {"id": id_}))
    await delete_rows(source, "outbox")


async def refuse_vectors(source: Source) -> None:
    """Have the index have refused the vector of every memory."""
    (config,) = await rows_of(source, "embedding_config", "index_name")
    row = {"index_name": config["index_name"], "operation": "upsert", "revision": 1, "vector": "AAAA"}
    memories = await rows_of(source, "long_term_memory", "tenant_id", "agent_id", "id")
    refused = row | {"dead": "refused", "due_at": 2**53 - 1}
    await insert_rows(source, "outbox", *({**memory, **refused} for memory in memories))


async def created_at_once(source: Source) -> None:
    """Have all memories be of one millisecond, which no store can give them."""
    await database_of(source).run([Statement("DROP TRIGGER long_term_memory_created_at_is_final", writes=True)])
    await set_rows(source, "long_term_memory", {"created_at": 5})


async def drop_table(source: Source, table: str) -> None:
    """Have a table be gone."""
    await database_of(source).run([Statement(f"DROP TABLE {table}", writes=True)])
