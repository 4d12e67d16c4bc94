"""Blobs in a folder: each failure has its error, and what a put was killed in is not left behind."""

from pathlib import Path

import pytest

from app.adapters.objects.failures import of_folder
from app.adapters.objects.folder import FolderObjects
from app.domain.errors import DatabaseUnavailable, StorageFull, StorageReadOnly
from app.observability.metrics import Metrics
from app.ports.object_store import ObjectMissing


def test_nothing_is_touched_before_the_first_call(tmp_path: Path) -> None:
    FolderObjects(tmp_path / "blobs", Metrics())
    assert not (tmp_path / "blobs").exists()


async def test_the_folder_is_its_owners_alone(tmp_path: Path) -> None:
    await FolderObjects(tmp_path / "blobs", Metrics()).put("t/a/1", b"x", "text/plain")
    assert (tmp_path / "blobs").stat().st_mode & 0o077 == 0


async def test_a_deletion_takes_what_an_unfinished_put_has_left(tmp_path: Path) -> None:
    objects = FolderObjects(tmp_path / "blobs", Metrics())
    await objects.put("t/a/1", b"x", "text/plain")
    await objects.put("t/a/12", b"x", "text/plain")
    (tmp_path / "blobs/t/a/1#1").write_bytes(b"half")
    (tmp_path / "blobs/t/a/2#1").write_bytes(b"half")
    assert [each.key for page in [page async for page in objects.list("t")] for each in page] == ["t/a/1", "t/a/12"]
    await objects.delete("t/a/1")
    await objects.delete("t/a/2")
    assert [path.name for path in (tmp_path / "blobs/t/a").iterdir()] == ["12"]


async def test_a_file_in_the_place_of_the_folder_is_an_outage(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")
    objects = FolderObjects(tmp_path / "blobs", Metrics())
    with pytest.raises(DatabaseUnavailable):
        await objects.ping()
    with pytest.raises(DatabaseUnavailable):
        await objects.put("t/a/1", b"x", "text/plain")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError("No space left on device (os error 28)"), StorageFull),
        (OSError(28, "No space left on device"), StorageFull),
        (Exception("Unable to write: Disk quota exceeded (os error 122)"), StorageFull),
        (Exception("Unable to write: Read-only file system (os error 30)"), StorageReadOnly),
        (PermissionError(13, "Permission denied"), StorageReadOnly),
        (Exception("Input/output error (os error 5)"), DatabaseUnavailable),
        (TimeoutError(), DatabaseUnavailable),
        (FileNotFoundError("not found (os error 2)"), ObjectMissing),
    ],
)
def test_each_failure_has_its_error(error: Exception, expected: type[Exception]) -> None:
    assert type(of_folder(error, "put")) is expected
