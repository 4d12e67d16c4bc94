"""Backs up the files of the embedded default while it serves."""

import asyncio
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from app.adapters.local.backup import back_up
from app.adapters.local.secret_file import AUTH_FILE
from app.adapters.objects.folder import sync_folder
from app.bootstrap.files import BLOBS_FOLDER, data_dir
from app.bootstrap.rooms import database_files
from app.domain.errors import Conflict, StorageReadOnly
from app.settings import Settings


async def back_up_files(settings: Settings, folder: Path) -> Mapping[str, int]:
    """Copy everything that DATA_DIR keeps into a new folder, and return the bytes of each file or folder by its name.

    The folder has its name once all is in it. Databases come first and blobs after them: a blob that a row names is in
    the copy, unless it was deleted meanwhile.

    Raises:
        Conflict: there is something of this name.
        ConfigurationError: there is no database yet.
        StorageReadOnly: the folder cannot be written.
        DatabaseUnavailable, DatabaseRejected: as ``back_up`` says; no folder of the name was made.
    """
    folder, own = _free(folder), data_dir(settings)
    draft = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    try:
        draft.mkdir(mode=0o700, parents=True)
        done: dict[str, int] = {}
        for path in (await database_files(settings)).values():
            name = str(path.relative_to(own))
            (draft / name).parent.mkdir(mode=0o700, exist_ok=True)
            done[name] = await asyncio.to_thread(back_up, path, draft / name)
        for name in (AUTH_FILE, BLOBS_FOLDER):
            if (own / name).exists():
                done[name] = await asyncio.to_thread(_copied, own / name, draft / name)
        draft.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StorageReadOnly(f"{folder} cannot be written: {error.strerror}.") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return done


def _free(folder: Path) -> Path:
    """Return the folder from the root on, if there is nothing of its name."""
    if folder.exists():
        raise Conflict(f"There is something at {folder} already. A backup goes into a folder of its own.")
    return folder.absolute()


def _copied(path: Path, target: Path) -> int:
    """Copy a file, or a folder with all that is in it, and return its bytes; what is deleted meanwhile is left out."""
    if path.is_dir():
        target.mkdir(mode=0o700)
        return sum(_copied(each, target / each.name) for each in sorted(path.iterdir()))
    try:
        shutil.copy2(path, target)
    except FileNotFoundError:
        return 0
    target.chmod(0o600)
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return target.stat().st_size
