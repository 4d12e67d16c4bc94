"""Which of the processes that use the same data on this machine have died."""

from collections.abc import Sequence
from typing import Protocol


class Processes(Protocol):
    """The processes that use one database, each by its name, which no other has ever had."""

    @property
    def name(self) -> str:
        """The name of this process; all that it leases it leases under a name that begins with it."""
        ...

    def enter(self) -> None:
        """Let others see that this process lives, until it dies or leaves."""
        ...

    def dead(self) -> Sequence[str]:
        """Return the names of those that have died and were not forgotten. One that lives is never among them."""
        ...

    def forget(self, name: str) -> None:
        """Forget one that has died: what it held was released."""
        ...

    def leave(self) -> None:
        """Let others know of this process no more: it holds nothing."""
        ...


class UnknownProcesses:
    """Knows of no other process: on another machine none can be told from one that does not answer."""

    def __init__(self, name: str) -> None:
        """Take this process's name."""
        self.name = name

    def enter(self) -> None:
        """Do nothing."""

    def dead(self) -> Sequence[str]:
        """Return none."""
        return ()

    def forget(self, name: str) -> None:
        """Do nothing."""

    def leave(self) -> None:
        """Do nothing."""
