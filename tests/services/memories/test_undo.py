"""What one credential has written is taken back, and nothing else."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain import limits
from app.domain.author import Author
from app.domain.errors import DatabaseUnavailable, InvalidRequest, QuotaExceeded, Unauthenticated
from app.domain.memory import NewMemory
from app.services.access.credentials import Principal
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.undo import Undo
from app.services.profiles.profile import ProfileService
from app.storage import undoing
from app.storage.system import revocations
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.ingestions import ingestion, message
from tests.support.memories import memory_rows
from tests.support.tables import column_of, rows_of


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


def by(bench: Bench, credential_id: str, tenant_id: str = "acme") -> LongTermMemoryGateway:
    return LongTermMemoryGateway(bench.backends.of_tenant(tenant_id, Author(credential_id, "http")))


def undo(bench: Bench, tenant_id: str = "acme") -> Undo:
    return Undo(bench.backends.of_tenant(tenant_id, ADMINISTRATOR))


async def remaining(bench: Bench) -> list[tuple[object, object]]:
    rows = await memory_rows(bench, "tenant_id", "content", by="tenant_id, content")
    return [(row["tenant_id"], row["content"]) for row in rows]


async def test_its_memories_go_with_their_vectors_and_others_stay(bench: Bench) -> None:
    for agent in ("a", "b"):
        await by(bench, "stolen").store(agent, NewMemory(f"bad of {agent}"))
        await by(bench, "good").store(agent, NewMemory(f"good of {agent}"))
    await by(bench, "stolen", "globex").store("a", NewMemory("of another tenant"))
    await bench.quiet()
    assert (await undo(bench).count("stolen")).memories == 2
    receipt = await undo(bench).run("stolen")
    assert (receipt.memories, receipt.changed, receipt.more) == (2, 0, False)
    left = [("acme", "good of a"), ("acme", "good of b"), ("globex", "of another tenant")]
    assert await remaining(bench) == left
    await bench.quiet()
    assert await bench.queued() == {}
    ids = {row["id"] for row in await memory_rows(bench, "id")}
    assert set(await bench.index.sample("acme", None)) | set(await bench.index.sample("globex", None)) == ids


@pytest.mark.parametrize("key", ["plain", "a.b", '"quoted"', "$", "", "\\", "ключ", "a]b"])
async def test_the_keys_that_it_brought_go_and_all_others_stay_as_they_are(bench: Bench, key: str) -> None:
    own = {"own": None, "number": 1.0, "deep": {"x": None, key: [1]}}
    memory_id = await by(bench, "good").store("bot", NewMemory("text", own))
    await by(bench, "stolen").store("bot", NewMemory("text", {key: {"bad": None}}))
    await by(bench, "other").store("bot", NewMemory("text", {"later": 2}))
    receipt = await undo(bench).run("stolen")
    assert (receipt.memories, receipt.changed) == (0, 1)
    (row,) = await memory_rows(bench, "id", "metadata", "later_keys")
    assert row["id"] == memory_id
    assert json.loads(str(row["metadata"])) == own | {"later": 2}
    assert json.loads(str(row["later_keys"])) == {"later": "other"}


async def test_it_is_counted_and_audited(bench: Bench) -> None:
    memory_id = await by(bench, "stolen").store("bot", NewMemory("text", {"k": 1}))
    await undo(bench).run("stolen")
    (usage,) = await rows_of(bench, "usage", "memories", "bytes", agent_id="bot")
    assert (usage["memories"], usage["bytes"]) == (0, 0)
    *_, row = await rows_of(bench, "audit", "event", "memory_id", "detail", "written_by", by="number")
    assert (row["event"], row["memory_id"], row["written_by"]) == ("undone", memory_id, "administrator")
    assert json.loads(str(row["detail"])) == {"of": "stolen"}


async def test_an_undo_that_is_cut_goes_on_where_it_was(bench: Bench) -> None:
    for number in range(3):
        await by(bench, "stolen").store("bot", NewMemory(f"bad {number}"))
    bench.database.error = DatabaseUnavailable("The database is away.")
    with pytest.raises(DatabaseUnavailable):
        await undo(bench).run("stolen")
    bench.database.error = None
    assert (await undo(bench).run("stolen")).memories == 3
    assert (await undo(bench).run("stolen")).memories == 0


async def test_what_is_more_than_one_call_takes_back_is_taken_back_by_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.memories.undo.MAX_CHUNKS", 1)
    for name in ("_QUEUE_DELETES", "_AUDIT", "_DELETE", "_RESTORE", "_IS_MORE"):
        monkeypatch.setattr(undoing, name, getattr(undoing, name).replace("LIMIT 500", "LIMIT 2"))
    for number in range(3):
        await by(bench, "stolen").store("bot", NewMemory(f"bad {number}"))
        await by(bench, "good").store("bot", NewMemory(f"good {number}"))
        await by(bench, "stolen").store("bot", NewMemory(f"good {number}", {"k": 1}))
    receipts = [await undo(bench).run("stolen") for _ in range(3)]
    assert [(each.memories, each.changed, each.more) for each in receipts] == [
        (2, 2, True),
        (1, 1, False),
        (0, 0, False),
    ]
    rows = await memory_rows(bench, "content", "metadata", by="content")
    assert [(row["content"], row["metadata"]) for row in rows] == [(f"good {n}", "{}") for n in range(3)]


async def test_a_credential_cannot_undo_itself(bench: Bench) -> None:
    with pytest.raises(InvalidRequest, match="its own"):
        await undo(bench).run("administrator")
    with pytest.raises(InvalidRequest, match="credential_id"):
        await undo(bench).run("no id")


async def test_its_own_memory_to_which_it_added_a_key_counts_once(bench: Bench) -> None:
    await by(bench, "stolen").store("bot", NewMemory("text"))
    await by(bench, "stolen").store("bot", NewMemory("text", {"k": 1}))
    counted = await undo(bench).count("stolen")
    assert (counted.memories, counted.changed) == (1, 0)
    receipt = await undo(bench).run("stolen")
    assert (receipt.memories, receipt.changed) == (1, 0)


async def test_once_it_is_undone_a_credential_writes_no_more_whatever_a_replica_knows(bench: Bench) -> None:
    await undo(bench).run("stolen")
    with pytest.raises(Unauthenticated):
        await by(bench, "stolen").store("bot", NewMemory("text"))
    await by(bench, "stolen", "globex").store("bot", NewMemory("text"))


async def test_who_writes_without_a_credential_is_not_revoked_with_those_that_were_issued_before(bench: Bench) -> None:
    now = bench.backends.clock()
    await bench.database.run([revocations.revoke_all("acme", now)])
    tools = bench.backends.of_tenant("acme", Principal("acme").author("mcp"))
    await LongTermMemoryGateway(tools).store("bot", NewMemory("by the tool server on its own data"))
    issued = Principal("acme", credential_id="old", issued_at=now - 1)
    with pytest.raises(Unauthenticated):
        await LongTermMemoryGateway(bench.backends.of_tenant("acme", issued.author("http"))).store(
            "bot", NewMemory("x")
        )


async def test_a_tenant_undoes_a_bounded_number_of_credentials(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    revoke = undoing._REVOKE  # noqa: SLF001 - a small bound
    monkeypatch.setattr(undoing, "_REVOKE", revoke.replace(f"< {limits.MAX_REVOCATIONS}", "< 2"))
    for name in ("one", "two"):
        await undo(bench).run(name)
    await undo(bench).run("one")
    await by(bench, "three").store("bot", NewMemory("text"))
    with pytest.raises(QuotaExceeded, match="not revoked"):
        await undo(bench).run("three")
    assert await remaining(bench) == []
    await undo(bench, "globex").run("three")


async def test_what_it_had_forgotten_is_remembered_again_and_what_others_had_stays_forgotten(bench: Bench) -> None:
    ids = [await by(bench, "good").store("bot", NewMemory(text)) for text in ("red", "blue")]
    for credential, id_ in zip(("stolen", "good"), ids, strict=True):
        await ProfileService(bench.backends.of_tenant("acme", Author(credential, "http"))).forget("bot", id_)
    assert (await undo(bench).count("stolen")).changed == 1
    assert (await undo(bench).run("stolen")).changed == 1
    rows = await memory_rows(bench, "content", forgotten_at=None)
    assert [row["content"] for row in rows] == ["red"]


async def test_its_messages_that_are_no_memories_yet_go_and_others_stay(bench: Bench) -> None:
    for number, credential in enumerate(("stolen", "good")):
        await ingestion(bench, credential, written_by=credential)
        await message(bench, f"{number:032}", credential)
    await undo(bench).run("stolen")
    assert await column_of(bench, "message", "ingestion_id") == ["good"]
    assert await column_of(bench, "ingestion", "id", finished_at=None) == ["good"]
