"""SQL's date and time functions, told the time by the double's clock.

https://sqlite.org/lang_datefunc.html
"""

import sqlite3
from collections.abc import Callable
from functools import partial

from memory_gateway_double.clock import Clock, timestamp

Value = float | str | bytes | None

_TIME_VALUES = {
    "date": (0,),
    "time": (0,),
    "datetime": (0,),
    "julianday": (0,),
    "unixepoch": (0,),
    "strftime": (1,),
    "timediff": (0, 1),
}
"""Which arguments are a moment, and may say ``now``."""
_CURRENT = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}
_MAY_BE_LEFT_OUT = {name for name, places in _TIME_VALUES.items() if len(places) == 1}
_SUBSECONDS = {"subsec", "subsecond"}
"""Later SQLites take these for ``now`` with its milliseconds."""
_EPOCH_MS = 210_866_760_000_000
"""The Unix epoch in milliseconds of the Julian calendar's count."""
_DAY_MS = 86_400_000


class DateFunctions:
    """Puts the clock's time in the place of ``now`` and leaves all else to SQLite's own functions.

    As in SQLite, ``now`` is one moment for all of a statement; it never steps back. ``CURRENT_TIMESTAMP`` and its
    like follow the clock too. Unlike SQLite's own, the functions take ``now`` even in a CHECK constraint, a
    generated column or an index, where SQLite refuses it once a row is written.
    """

    def __init__(self, clock: Clock) -> None:
        """Open the connection whose functions are asked."""
        self._clock = clock
        self._milliseconds = 0
        self._builtin = sqlite3.connect(":memory:", check_same_thread=False)

    def install(self, connection: sqlite3.Connection) -> None:
        """Replace the functions of a connection, those that this SQLite has."""
        known = {name for (name,) in self._builtin.execute("SELECT name FROM pragma_function_list")}
        for name in _TIME_VALUES.keys() & known:
            function: Callable[..., Value] = self._julianday if name == "julianday" else partial(self._call, name)
            arguments = 2 if name == "timediff" else -1
            connection.create_function(name, arguments, function, deterministic=True)  # so that indexes may use it
        for name, means in _CURRENT.items():
            connection.create_function(name, 0, partial(self._call, means), deterministic=True)

    def begin_statement(self) -> None:
        """Take the time that the next statement is told."""
        self._milliseconds = max(self._milliseconds, int(self._clock.now() * 1000))

    def close(self) -> None:
        """Close the connection whose functions are asked."""
        self._builtin.close()

    def _julianday(self, *arguments: Value) -> Value:
        if arguments in {(), ("now",)}:  # a short way for what is asked most
            return (self._milliseconds + _EPOCH_MS) / _DAY_MS
        return self._call("julianday", *arguments)

    def _call(self, name: str, *arguments: Value) -> Value:
        given = list(arguments)
        for place in reversed(_TIME_VALUES[name]):
            if place == len(given) and name in _MAY_BE_LEFT_OUT:
                given.append("now")
            word = _word(given[place]) if place < len(given) else ""
            if word == "now":
                given[place] = self._now()
            elif word in _SUBSECONDS and name in _MAY_BE_LEFT_OUT:
                given[place : place + 1] = [self._now(), "subsec"]
        sql = f"SELECT {name}({', '.join('?' * len(given))})"
        value: Value = self._builtin.execute(sql, given).fetchone()[0]
        return value

    def _now(self) -> str:
        """Write the time as SQLite reads it; a little more than it is, as some versions cut the last digit off."""
        return f"{timestamp(self._milliseconds / 1000 + 0.0005).removesuffix('Z')}3"


def _word(value: Value) -> str:
    """Return a text or BLOB in lower case, which is how SQLite compares words; else nothing."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").lower()
    return value.lower() if isinstance(value, str) else ""
