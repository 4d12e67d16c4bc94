"""Files of the user's alone that are whole or not there, and locks that end with the process that holds them."""

from __future__ import annotations

import os
import time

from memory_gateway_hook.failures import Failed
from memory_gateway_hook.pinned import is_private

try:
    import fcntl
except ImportError:  # not there on Windows: what a lock would keep apart is then kept apart by the service's ids alone
    fcntl = None  # type: ignore[assignment]

_PAUSE_SECONDS = 0.003


def private_folder(path: str) -> str:
    """Make a folder for the user alone where there is none, and return its path.

    Raises:
        Failed: it cannot be made, or others may read or write it.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        status = os.lstat(path)
    except OSError as error:
        raise Failed(f"{path} cannot be made: {error.strerror}") from error
    if not is_private(status):
        raise Failed(f"{path} must be a folder of yours that nobody else can read: chmod 700")
    return path


def replace(path: str, content: bytes, *, lasts: bool = False) -> None:
    """Write a file that is never there in part; ``lasts``: it is on the disk when this returns.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    draft = f"{path}.{os.getpid()}.draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            if lasts:
                file.flush()
                os.fsync(descriptor)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    if lasts and os.name == "posix":
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class Lock:
    """A lock of one file. The system gives it back when the process ends, however it ends."""

    def __init__(self, path: str) -> None:
        """Take the file, which is made where there is none."""
        self._path, self._descriptor = path, -1

    def take(self, until: float) -> bool:
        """Wait for the lock until a moment (``time.monotonic``); tell whether it is held now."""
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        while fcntl is not None:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= until:
                    self.give_back()
                    return False
                time.sleep(_PAUSE_SECONDS)
        return True

    def give_back(self) -> None:
        """End the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
