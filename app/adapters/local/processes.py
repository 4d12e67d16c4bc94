"""The processes that use a file of this machine: each locks a file of its own, and its death unlocks it."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

import structlog

if sys.platform != "win32":  # there the leases of dead processes expire by themselves
    import fcntl

_NEW = ".new"
_TURN = "turn"
"""The file that the process locks whose turn it is; no process has this name."""


class LockedProcesses:
    """Implements ``app.ports.processes`` by ``flock``.

    A lock belongs to an open file. So it shows which process lives, whatever a process id means in which container, and
    after a restart of the machine.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Take the folder of the lock files, which all processes share, and this process's name."""
        self.name = name
        self._folder = folder
        self._own: int | None = None
        self._turn: int | None = None
        self._dead: dict[str, int] = {}
        """The open lock files of dead processes: no other process releases their leases meanwhile."""

    def enter(self) -> None:
        """Make this process's lock file, locked from the moment at which others can see it.

        Where no lock file can be made, other processes wait until this process's leases have expired.
        """
        if sys.platform == "win32" or self._own is not None:
            return
        path = self._path(self.name)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            new = path.with_name(path.name + _NEW)
            own = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
            new.rename(path)
        except OSError as error:
            structlog.get_logger().warning("process_not_seen", reason=error.strerror)
        else:
            self._own = own

    def dead(self) -> Sequence[str]:
        """Return the names of the processes that hold their locks no longer."""
        if sys.platform == "win32":
            return ()
        with suppress(OSError):
            for path in self._folder.iterdir():
                name = unquote(path.name)
                if not path.name.endswith(_NEW) and path.name != _TURN and name != self.name and name not in self._dead:
                    self._look_at(path, name)
        return list(self._dead)

    def _look_at(self, path: Path, name: str) -> None:
        with suppress(FileNotFoundError):
            other = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # it lives, or another process is releasing its leases
                os.close(other)
            else:
                self._dead[name] = other

    def forget(self, name: str) -> None:
        """Remove the lock file of a process that has died."""
        self._path(name).unlink(missing_ok=True)
        os.close(self._dead.pop(name))

    def begin_turn(self) -> bool:
        """Lock the file of the turn; where it cannot be made every process has its turn."""
        if sys.platform == "win32":
            return True
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            turn = os.open(self._folder / _TURN, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return True
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(turn)
            return False
        except OSError:  # a file system without locks
            os.close(turn)
            return True
        self._turn = turn
        return True

    def end_turn(self) -> None:
        """Unlock the file of the turn."""
        if self._turn is not None:
            os.close(self._turn)
            self._turn = None

    def leave(self) -> None:
        """Remove this process's lock file, and unlock those of dead processes, which others find."""
        if self._own is not None:
            self._path(self.name).unlink(missing_ok=True)
            os.close(self._own)
            self._own = None
        for other in self._dead.values():
            os.close(other)
        self._dead.clear()

    def _path(self, name: str) -> Path:
        return self._folder / quote(name, safe=":")
