"""The processes that use the same data on this machine, and which of them have died."""

from collections.abc import Sequence
from typing import Protocol


class Processes(Protocol):
    """The processes that use one database, each by its name, which no other has ever had."""

    @property
    def name(self) -> str:
        """The name of this process; the owner of each of its leases begins with it."""
        ...

    def enter(self) -> None:
        """Let others see that this process lives, until it dies or leaves."""
        ...

    def dead(self) -> Sequence[str]:
        """Return the names of the processes that have died and were not forgotten; never that of a living process."""
        ...

    def forget(self, name: str) -> None:
        """Forget a process that has died: its leases were released."""
        ...

    def begin_turn(self) -> bool:
        """Take the turn at work that only one process of this machine does at a time; False: another one has it.

        A process that dies has its turn no longer.
        """
        ...

    def end_turn(self) -> None:
        """Give the turn back."""
        ...

    def leave(self) -> None:
        """Hide this process from others: it holds no leases."""
        ...


class UnknownProcesses:
    """Knows of no other process: a process on another machine may be dead, or only not answer."""

    def __init__(self, name: str) -> None:
        """Take this process's name."""
        self.name = name

    def enter(self) -> None:
        """Do nothing."""

    def dead(self) -> Sequence[str]:
        """Return no names."""
        return ()

    def forget(self, name: str) -> None:
        """Do nothing."""

    def begin_turn(self) -> bool:
        """Return True: nobody else is known."""
        return True

    def end_turn(self) -> None:
        """Do nothing."""

    def leave(self) -> None:
        """Do nothing."""
