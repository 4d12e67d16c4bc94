"""The clock of a data directory, which a test moves: that of the gateway in this process, and SQL's own."""

from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

import apsw

from app.domain.moments import wall_clock

_UNIX_EPOCH = 2_440_587.5
_DAY_MS = 86_400_000


class Clock:
    """Tells the time in milliseconds since the epoch, ahead of the machine's by what has passed in the test."""

    def __init__(self) -> None:
        """Begin at the machine's time."""
        self.ahead_ms = 0
        self.followed_by: list[Callable[[float], None]] = []
        """The clocks of other servers, which go on by as many seconds."""

    def __call__(self) -> int:
        return wall_clock() + self.ahead_ms

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.ahead_ms += round(seconds * 1000)
        for forward in self.followed_by:
            forward(seconds)


class FixedClock(Clock):
    """The clock of a directory whose database no test can move: only those who follow it learn that time passes."""

    def later(self, seconds: float) -> None:
        for forward in self.followed_by:
            forward(seconds)


_CLOCKS: WeakValueDictionary[Path, Clock] = WeakValueDictionary()


def clock_of(data_dir: Path) -> Clock:
    """Return the one clock of a directory: every connection to its databases that is opened from now on follows it."""
    return _CLOCKS.setdefault(data_dir.resolve(), Clock())


def _follow(connection: apsw.Connection) -> None:
    """Have SQL's ``julianday('now')`` tell the directory's time.

    It is declared deterministic so that SQLite asks it once for a statement, as it does its own.
    """
    folders = Path(connection.filename).parents if connection.filename else ()
    clock = next((_CLOCKS[folder] for folder in folders if folder in _CLOCKS), None)
    if clock is not None:
        connection.create_scalar_function("julianday", _julian_day(clock), 1, deterministic=True)


def _julian_day(clock: Clock) -> Callable[..., float]:
    def julian_day(moment: str) -> float:
        if moment != "now":
            raise ValueError("The clock of a test knows julianday('now') alone.")
        return _UNIX_EPOCH + (clock() + 0.5) / _DAY_MS  # half a millisecond: a double this large is exact to 0.04

    return julian_day


apsw.connection_hooks.append(_follow)
