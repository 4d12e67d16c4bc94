"""Processes share one copy of vectors, and no file of it is believed, outlives its users or keeps what was removed."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from ulid import ULID

from app.adapters.local import scope_vectors, shared_blocks
from app.adapters.local.shared_blocks import SharedBlocks
from app.adapters.local.sqlite_connection import open_connection
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import HitsOfFile, SqliteVectorIndex
from app.bootstrap import stacks
from app.domain.embedding import EmbeddingConfig
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.vector_index import IndexedVector
from app.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="each process keeps its own copy there")

Block = npt.NDArray[np.float32]
NUMBERS = np.arange(4, dtype=np.int64)
EIGHT = EmbeddingConfig("test", "eight", 8)
OWN = Scope("tenant", "agent")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_blocks, "_SHARED_BYTES", 1)
    monkeypatch.setattr(scope_vectors, "BLOCK", 4)


def block(seed: int = 1) -> Block:
    return np.random.default_rng(seed).standard_normal((8, 4), np.float32)


def files(memory: Path) -> list[Path]:
    return [path for path in memory.rglob("*") if path.is_file()]


def two(memory: Path) -> tuple[SharedBlocks, SharedBlocks]:
    return SharedBlocks(memory / "base.sqlite3", memory), SharedBlocks(memory / "base.sqlite3", memory)


def shared_by(blocks: SharedBlocks, values: Block) -> Block:
    shared = blocks.share("owner", NUMBERS, values)
    assert shared is not None
    assert shared.tolist() == values.tolist()
    assert not shared.flags.writeable
    return shared


def test_two_processes_have_one_file_which_the_last_of_them_removes(tmp_path: Path) -> None:
    first, second = two(tmp_path)
    one, other = shared_by(first, block()), shared_by(second, block())
    (file,) = files(tmp_path)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    del one
    assert files(tmp_path) == [file]
    assert other.tolist() == block().tolist()
    del other
    assert not file.parent.exists()


def test_other_vectors_have_another_file(tmp_path: Path) -> None:
    first, second = two(tmp_path)
    held = [
        shared_by(first, block()),
        second.share("another", NUMBERS, block()),
        second.share("owner", NUMBERS + 1, block()),
    ]
    elsewhere = SharedBlocks(tmp_path / "other.sqlite3", tmp_path)
    held.append(shared_by(elsewhere, block()))
    assert len(files(tmp_path)) == 4
    assert len({file.parent for file in files(tmp_path)}) == 2


@pytest.mark.parametrize("seed", [2, 3])
def test_a_file_with_other_vectors_under_the_same_name_is_not_used(tmp_path: Path, seed: int) -> None:
    first, second = two(tmp_path)
    stale = shared_by(first, block())
    restored = shared_by(second, block(seed))
    assert stale.tolist() == block().tolist()
    (file,) = files(tmp_path)
    assert file.read_bytes() == block(seed).tobytes()
    del stale
    assert files(tmp_path) == [file]
    assert restored.tolist() == block(seed).tolist()


def damage_size(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-4])


def damage_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[7] ^= 1
    file.write_bytes(content)


def damage_kind(file: Path) -> None:
    file.unlink()
    file.symlink_to(__file__)


@pytest.mark.parametrize("damage", [damage_size, damage_bit, damage_kind, Path.unlink])
def test_a_file_that_a_killed_process_left_and_that_is_damaged_is_not_used(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    file = left_by_a_killed_process(tmp_path)
    damage(file)
    held = SharedBlocks(tmp_path / "base.sqlite3", tmp_path).share("owner", NUMBERS, block())
    assert held is None or held.tolist() == block().tolist()


def left_by_a_killed_process(memory: Path) -> Path:
    program = f"""
import os, signal, sys
from pathlib import Path
import numpy as np
from app.adapters.local import shared_blocks
shared_blocks._SHARED_BYTES = 1
blocks = shared_blocks.SharedBlocks(Path({str(memory / "base.sqlite3")!r}), Path({str(memory)!r}))
values = np.random.default_rng(1).standard_normal((8, 4), np.float32)
held = blocks.share("owner", np.arange(4, dtype=np.int64), values)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], check=False, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    assert ended.returncode == -signal.SIGKILL
    (file,) = files(memory)
    return file


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_is_used_stays(tmp_path: Path) -> None:
    file = left_by_a_killed_process(tmp_path)
    unfinished = file.with_name("new-0123")
    unfinished.write_bytes(b"half a block")
    first, second = two(tmp_path)
    held = shared_by(first, block(5))
    second.sweep()
    (left,) = files(tmp_path)
    assert left.read_bytes() == held.tobytes()


def test_a_process_that_ends_leaves_its_files_to_the_others_and_the_last_leaves_none(tmp_path: Path) -> None:
    first, second = two(tmp_path)
    one, other = shared_by(first, block()), shared_by(second, block())
    first.close()
    assert len(files(tmp_path)) == 1
    second.close()
    assert files(tmp_path) == []
    assert one.tolist() == other.tolist() == block().tolist()


def test_vectors_that_are_removed_leave_their_file_at_once_whoever_uses_them(tmp_path: Path) -> None:
    first, second = two(tmp_path)
    used, of_another = shared_by(first, block()), second.share("another", NUMBERS, block(2))
    assert of_another is not None
    second.remove("owner")
    (left,) = files(tmp_path)
    assert left.read_bytes() == of_another.tobytes()
    assert used.tolist() == shared_by(second, block()).tolist()


def test_a_process_that_shares_nothing_removes_what_others_share(tmp_path: Path) -> None:
    server = SharedBlocks(tmp_path / "base.sqlite3", tmp_path)
    held = shared_by(server, block())
    command = SharedBlocks(tmp_path / "base.sqlite3", tmp_path, shares=False)
    assert command.share("owner", NUMBERS, block()) is None
    command.remove("owner")
    assert files(tmp_path) == []
    assert held.tolist() == block().tolist()


async def test_a_command_beside_a_server_leaves_nothing_of_what_it_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "SharedBlocks", partial(SharedBlocks, memory=tmp_path))
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    of_command = stacks.local_stack(Settings(workers=None), SqliteFile(tmp_path / "base.sqlite3"))
    await of_command.prepare_index(EIGHT)
    index = of_command.open_index(EIGHT)
    file = SqliteFile(tmp_path / "base.sqlite3")
    of_server = SqliteVectorIndex(file, EIGHT, cache_bytes=1 << 20, shared=SharedBlocks(file.path, tmp_path))
    vectors = [IndexedVector(OWN, str(ULID()), values, 1, 1) for values in np.eye(8, dtype=np.float32)]
    await index.upsert(vectors)
    await of_server.query(OWN, vectors[0].values, top_k=9, where=Filter())
    shared = [path for path in files(tmp_path) if path.parent != tmp_path]
    assert shared
    await index.delete(OWN, [vectors[0].id])
    assert not any(path.exists() for path in shared)
    await of_command.close()
    await file.close()


def test_where_another_has_the_folder_nothing_is_shared(tmp_path: Path) -> None:
    first, second = two(tmp_path)
    held = shared_by(first, block())
    (file,) = files(tmp_path)
    file.parent.chmod(0o755)
    assert second.share("owner", NUMBERS, block()) is None
    file.parent.chmod(0o700)
    assert held.tolist() == block().tolist()


def test_without_such_memory_nothing_is_shared(tmp_path: Path) -> None:
    blocks = SharedBlocks(tmp_path / "base.sqlite3", tmp_path / "absent")
    assert blocks.share("owner", NUMBERS, block()) is None
    blocks.sweep()


def test_where_there_is_no_room_nothing_is_shared_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two(tmp_path)

    def no_room(_file: int, _content: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", no_room)
        assert first.share("owner", NUMBERS, block()) is None
    assert files(tmp_path) == []
    monkeypatch.setattr(shared_blocks, "_SPARE", 1 << 60)
    assert second.share("owner", NUMBERS, block()) is None


async def test_an_index_answers_from_shared_vectors_as_from_its_own_and_keeps_none_that_were_removed(
    tmp_path: Path,
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    file, other_file = SqliteFile(tmp_path / "index.sqlite3"), SqliteFile(tmp_path / "index.sqlite3")
    sharing = [
        SqliteVectorIndex(each, EIGHT, cache_bytes=1 << 20, shared=SharedBlocks(each.path, memory))
        for each in (file, other_file)
    ]
    plain = SqliteVectorIndex(file, EIGHT, cache_bytes=1 << 20)
    await plain.prepare()
    random = np.random.default_rng(3)
    vectors = random.standard_normal((30, 8), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = [str(ULID()) for _ in vectors]
    values = dict(zip(ids, vectors, strict=True))
    for step in range(0, 30, 3):
        await sharing[step % 2].upsert(
            [IndexedVector(OWN, id_, values[id_], step, 1, {"step": step}) for id_ in ids[step : step + 3]]
        )
        gone = ids[max(0, step - 7)]
        if step % 2:
            await sharing[0].delete(OWN, [gone])
            assert files(memory) == []
        for where in (Filter(), Filter(created_after=3), Filter(metadata={"step": step})):
            expected = (await plain.query(OWN, vectors[0], top_k=9, where=where)).hits
            for index in sharing:
                hits = (await index.query(OWN, vectors[0], top_k=9, where=where)).hits
                assert [hit.id for hit in hits] == [hit.id for hit in expected]
                assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], abs=1e-6)
        if step % 2:
            assert not any(column(values[gone]) in columns_of(path) for path in files(memory))
    assert files(memory)
    await sharing[0].delete(OWN, ids)
    assert (await sharing[1].query(OWN, vectors[0], top_k=9, where=Filter())).hits == []
    assert files(memory) == []
    for each in (file, other_file):
        await each.close()


def column(vector: Block) -> bytes:
    return vector.tobytes()


def columns_of(path: Path) -> set[bytes]:
    return {vector.tobytes() for vector in np.frombuffer(path.read_bytes(), np.float32).reshape(8, -1).T}


@pytest.mark.parametrize("removed", [1, 5])
async def test_a_search_on_a_snapshot_before_a_removal_leaves_no_shared_vectors_with_what_was_removed(
    tmp_path: Path, removed: int
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    path = tmp_path / "index.sqlite3"
    file, other_file = SqliteFile(path), SqliteFile(path)
    remover, slow = (
        SqliteVectorIndex(each, EIGHT, cache_bytes=1 << 20, shared=SharedBlocks(path, memory))
        for each in (file, other_file)
    )
    await remover.prepare()
    vectors = [IndexedVector(OWN, str(ULID()), values, 1, 1) for values in np.eye(8, dtype=np.float32)]
    await remover.upsert(vectors)
    search = slow.ask_within(OWN, vectors[0].values, top_k=9, where=Filter())
    assert isinstance(search, HitsOfFile)
    with closing(open_connection(path)) as older:
        older.execute("BEGIN")
        older.execute("SELECT count(*) FROM local_vector").fetchall()
        await remover.delete(OWN, [vector.id for vector in vectors[:removed]])
        search.search(older)
    assert files(memory) == []
    found = await slow.query(OWN, vectors[0].values, top_k=9, where=Filter())
    assert {hit.id for hit in found.hits} == {vector.id for vector in vectors[removed:]}
    for each in (file, other_file):
        await each.close()
