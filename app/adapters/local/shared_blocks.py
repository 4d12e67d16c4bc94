"""Blocks of vectors that the processes of one machine read from one copy in memory (ADR 0089)."""

import hashlib
import os
import secrets
import stat
import sys
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from weakref import finalize

import numpy as np
import numpy.typing as npt
import structlog

if sys.platform != "win32":  # there each process keeps its own copy
    import fcntl
    from mmap import PROT_READ

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own there, which no other user can open
"""A file system that is memory: what is unlinked is gone, and nothing reaches a disk."""

Matrix = npt.NDArray[np.float32]

_OF_OTHERS = 0o077
_SPARE = 4
"""How many further blocks have to have room: others use this memory too."""
_SHARED_BYTES = 1 << 20
"""Smaller blocks are not shared: each takes two open files."""


class SharedBlocks:
    """The blocks of one database, each in a file that is named by whose vectors it has.

    No file is believed: a block is used only where it equals what was read from the database. A file is written once,
    under another name, and is removed by the last process that lets go of it. One that a killed process has left is
    removed by the next that starts, or that removes vectors. Where there is no such memory, or no room in it, each
    process keeps its own copy.
    """

    def __init__(self, database: Path, memory: Path = MEMORY, *, shares: bool = True) -> None:
        """Share with the processes on this database; ``memory`` is a folder that is memory.

        A process that ``shares`` nothing, as a command beside a server, still removes what others share.
        """
        self._memory = memory
        self._folder = memory / f"memory-gateway-{_digest(str(database.resolve()).encode())}"
        self._shares = shares
        self._used: list[finalize[[int, Path], mmap]] = []

    def share(self, owner: str, numbers: npt.NDArray[np.int64], block: Matrix) -> Matrix | None:
        """Return the block in memory that others share, read-only; None where it cannot be shared.

        ``owner`` and ``numbers`` name the vectors: other vectors have another name.
        """
        if sys.platform == "win32" or not self._shares or block.nbytes < _SHARED_BYTES:
            return None
        path = self._folder / f"{_digest(owner.encode())}-{_digest(numbers.tobytes())}"
        try:
            shared = self._existing(path, block)
            return self._written(path, block) if shared is None else shared
        except FileNotFoundError:  # no such memory, or the last user of the folder has just removed it
            return None
        except OSError as error:  # another user's folder, no room, a limit on open files
            self._shares = False
            structlog.get_logger().info("vectors_not_shared", reason=str(error))
            return None

    def remove(self, owner: str) -> None:
        """Remove the files with vectors of ``owner``; processes that use one keep what it had till then."""
        with suppress(OSError):
            self._check_folder()
            for path in [*self._folder.glob(f"{_digest(owner.encode())}-*")]:
                path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove the files that no process uses."""
        if sys.platform == "win32":
            return
        with suppress(OSError):
            self._check_folder()
            for path in [*self._folder.iterdir()]:
                with suppress(OSError):
                    _let_go(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), path)
            self._folder.rmdir()  # fails while there are files

    def close(self) -> None:
        """Let go of all files, when the process ends: what is in memory of them stays usable until then."""
        for used in self._used:
            used()
        self._used.clear()

    def _check_folder(self) -> None:
        about = self._folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & _OF_OTHERS:
            raise PermissionError(f"{self._folder} is no folder of this user alone.")

    def _existing(self, path: Path, block: Matrix) -> Matrix | None:
        """Return the block of a file, where there is one that equals ``block``."""
        with suppress(FileNotFoundError):
            self._check_folder()
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if os.fstat(file).st_size != block.nbytes or not _lock(file, alone=False):
                os.close(file)
                return None
            shared = self._map(file, path, block)
            if np.array_equal(shared.view(np.uint32), block.view(np.uint32)):  # the bits: no number may be "equal"
                return shared
        return None

    def _written(self, path: Path, block: Matrix) -> Matrix | None:
        """Write the block to a file; None where there is no room."""
        free = os.statvfs(self._memory)
        if free.f_bavail * free.f_frsize < (1 + _SPARE) * block.nbytes:
            return None
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._check_folder()
        new = self._folder / f"new-{secrets.token_hex(8)}"
        file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            _lock(file, alone=False)
            left = np.ascontiguousarray(block).data.cast("B")
            while (
                left
            ):  # a write into a full file system is an error here, where one to mapped memory would end the process
                left = left[os.write(file, left) :]
            new.rename(path)
        except OSError:
            with suppress(OSError):
                new.unlink()
            os.close(file)
            raise
        return self._map(file, path, block)

    def _map(self, file: int, path: Path, block: Matrix) -> Matrix:
        """Return a block's file as an array; the file is let go of when the array and all views of it are gone."""
        mapped = mmap(file, block.nbytes, prot=PROT_READ)
        self._used = [used for used in self._used if used.alive]
        self._used.append(finalize(mapped, _let_go, file, path))
        return np.frombuffer(mapped, block.dtype).reshape(block.shape)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _let_go(file: int, path: Path) -> None:
    """Close a file, and remove it where no other process has it open."""
    with suppress(OSError):
        if _lock(file, alone=True) and os.fstat(file).st_ino == path.lstat().st_ino:
            path.unlink()
            path.parent.rmdir()  # fails while there are other files
    os.close(file)


def _lock(file: int, *, alone: bool) -> bool:
    """Lock a file for reading, or alone, where others hold no lock that forbids it."""
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
