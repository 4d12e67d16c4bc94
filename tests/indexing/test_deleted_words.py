"""No byte of the database has a word of a deleted memory: after an erasure's receipt, a deletion, a prune."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.memory import NewMemory
from app.indexing.jobs.merge_words import merge_words
from app.indexing.jobs.prune import Prune
from app.indexing.rate_limiter import RateLimiter
from app.storage.migrations.runner import known_migrations, migrate
from tests.support.backends import Backend
from tests.support.damage import with_word
from tests.support.gateways import Bench, bench_on
from tests.support.memories import expire
from tests.support.tables import Like, column_of, delete_rows, insert_rows

SECRET = "Zanzibarquux flimmergurkens vyxolunding"
STEMS = ("zanzibarquux", "flimmergurken", "vyxolund")
_MEMORIES, _WORDS = 20, 60


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


async def in_blocks(bench: Bench, words: Iterable[str]) -> list[str]:
    """Return which words the blocks of the index of words have, or what separates these blocks."""
    shown = await column_of(bench, "memory_words_data", "hex(block)")
    shown += await column_of(bench, "memory_words_idx", "hex(term)")
    held = b"\n".join(bytes.fromhex(each) for each in shown)
    return [word for word in words if word.encode() in held]


def in_files(data_dir: Path, words: Iterable[str] = STEMS) -> list[str]:
    """Return which words any file of the data directory has, its log and the folder of objects included."""
    held = {path.name: path.read_bytes().lower() for path in data_dir.rglob("*") if path.is_file()}
    return [f"{word} in {name}" for word in words for name, content in held.items() if word.encode() in content]


async def prune(bench: Bench) -> None:
    await Prune(
        bench.database, audit_days=1, episode_days=1, rate_limiter=RateLimiter(1e9), report=lambda _: None
    ).run()


async def test_the_blocks_of_the_words_index_have_no_word_of_an_erased_agent(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory(SECRET))
    await bench.gateway.store("other", NewMemory("Wolkenbruch over the harbour"))
    assert await in_blocks(bench, STEMS)
    accepted = await bench.gateway.erase("bot")
    await bench.quiet()
    assert (await bench.gateway.erasure(accepted.id)).receipt is not None
    assert await in_blocks(bench, STEMS) == []
    assert await in_blocks(bench, ["wolkenbruch"]) == ["wolkenbruch"]


async def test_nor_has_what_separates_one_block_from_the_next(bench: Bench) -> None:
    """FTS5 separates blocks by as many letters of a word as tell it from the one before: here often by all of them."""
    others = [f"nat{number:05}" for number in range(_MEMORIES * _WORDS)]
    own = [f"{word}q" for word in others]
    for agent, words in (("other", others), ("bot", own)):
        for start in range(0, len(words), _WORDS):
            await bench.gateway.store(agent, NewMemory(" ".join(words[start : start + _WORDS])))
    await merge_words(bench.database)
    assert await in_blocks(bench, own)
    await bench.gateway.erase("bot")
    await bench.quiet()
    assert await in_blocks(bench, own) == []


async def test_where_nothing_but_the_erased_agent_was_stored_nothing_is_left(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory(SECRET))
    await bench.gateway.erase("bot")
    await bench.quiet()
    assert await in_blocks(bench, STEMS) == []
    await bench.gateway.store("bot", NewMemory("begun anew"))
    assert await bench.contents("begun") == ["begun anew"]


async def test_no_file_has_a_word_of_an_erased_agent_while_it_is_served_and_after_it_was_stopped(
    tmp_path: Path,
) -> None:
    async with bench_on(tmp_path) as bench:
        for number in range(30):
            await bench.gateway.store("other", NewMemory(f"Wolkenbruch {number} over the harbour"))
            await bench.gateway.store("bot", NewMemory(f"{SECRET} {number}"), idempotency_key=f"{STEMS[0]}-{number}")
        assert in_files(tmp_path)
        accepted = await bench.gateway.erase("bot")
        await bench.quiet()
        assert (await bench.gateway.erasure(accepted.id)).receipt is not None
        assert in_files(tmp_path) == []
        assert in_files(tmp_path, ["wolkenbruch"])
    assert in_files(tmp_path) == []


async def test_no_file_has_a_word_of_a_deleted_memory_once_its_vector_is_removed(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        for number in range(30):
            await bench.gateway.store("bot", NewMemory(f"Wolkenbruch {number} over the harbour"))
        id_ = await bench.gateway.store("bot", NewMemory(SECRET))
        await bench.quiet(rounds=2)
        await bench.gateway.delete("bot", id_)
        assert await in_blocks(bench, STEMS) == []
        await bench.quiet(rounds=3)
        assert in_files(tmp_path) == []
    assert in_files(tmp_path) == []


async def test_no_file_has_a_word_of_a_pruned_memory(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        await bench.gateway.store("bot", NewMemory("Wolkenbruch over the harbour"))
        await bench.gateway.store("bot", NewMemory(SECRET))
        await expire(bench, content=Like("Zanzibar%"))
        await prune(bench)
        assert in_files(tmp_path) == []
        assert in_files(tmp_path, ["wolkenbruch"])


async def test_the_receipt_waits_until_nobody_reads_what_the_log_has(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        await bench.gateway.store("bot", NewMemory(SECRET))
        accepted = await bench.gateway.erase("bot")
        bench.database.log_in_use = True
        await bench.quiet()
        assert (await bench.gateway.erasure(accepted.id)).receipt is None
        bench.database.log_in_use = False
        await bench.quiet()
        assert (await bench.gateway.erasure(accepted.id)).receipt is not None
        assert in_files(tmp_path) == []


async def test_words_that_were_deleted_before_the_migration_go_with_the_next_merges(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "old.sqlite3")
    database = SqliteDatabase(file)
    known = known_migrations()
    before = next(at for at, migration in enumerate(known) if migration.name.startswith("0033"))
    await migrate(database, known[:before])
    contents = [SECRET if number == 7 else f"Wolkenbruch {number}" for number in range(70)]
    await insert_rows(database, "long_term_memory", *(old_row(*each) for each in enumerate(contents)))
    await delete_rows(database, "long_term_memory", content=Like("Zanzibar%"))
    await migrate(database)
    await database.purge_log()
    assert in_files(tmp_path)
    for _ in range(3):
        await merge_words(database)
    await database.purge_log()
    assert in_files(tmp_path) == []
    assert await with_word(database, "wolkenbruch") == 69
    await file.close()


def old_row(number: int, content: str) -> dict[str, Any]:
    embedding = {"embedding_provider": "hashing", "embedding_model": "v1", "embedding_dimensions": 3}
    own = {"id": f"{number:026d}", "content": content, "content_hash": f"{number:064d}", "created_at": number}
    return {"tenant_id": "acme", "agent_id": "bot", "metadata": "{}", "segments": "", **embedding, **own}
