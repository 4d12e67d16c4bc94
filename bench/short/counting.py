"""Counts what this process does for a request: instructions of Python, calls, and the steps of SQLite's machine.

What runs in C between two calls is not seen: a larger matrix that is multiplied in one call counts as much as a small
one. So the counts find what a change does more, and do not tell how fast a request is: while those of a recall went
from 77,800 to 63,300 once, the processor's own became 1.5 % fewer (valgrind's callgrind, 15.5 to 15.2 million), and
with arrays in place of loops over 60 candidates, 53,200, they became 2 % more.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import apsw

from bench.short.following import followed, of_request

_RUNS, _STEPS = "SQLITE_STMTSTATUS_RUN", "SQLITE_STMTSTATUS_VM_STEP"
_CALLS = frozenset({"call", "c_call"})


@dataclass(slots=True)
class Counts:
    """What was done: instructions of Python's bytecode, calls of Python and C, SQLite's statements and its steps."""

    instructions: int = 0
    calls: int = 0
    statements: int = 0
    steps: int = 0


@dataclass(slots=True)
class Counter:
    """Counts while it is told to, on the main thread what belongs to a request, and all that other threads do."""

    counts: Counts = field(default_factory=Counts)
    counting: bool = False
    _before: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """The runs and steps of each prepared statement so far: SQLite adds up those of the statements that are its own."""

    @contextmanager
    def installed(self) -> Iterator[None]:
        """See every thread and every database that begins meanwhile."""
        hook: Callable[[apsw.Connection], None] = self._watch
        apsw.connection_hooks.append(hook)
        threading.setprofile(self._profile)
        threading.settrace(self._enter)
        try:
            yield
        finally:
            threading.settrace(None)
            threading.setprofile(None)
            apsw.connection_hooks.remove(hook)

    @contextmanager
    def request(self) -> Iterator[Counts]:
        """Count what is done meanwhile for the request that the block makes."""
        self.counts = Counts()
        with followed():
            sys.setprofile(self._profile)
            sys.settrace(self._enter)
            self.counting = True
            try:
                yield self.counts
            finally:
                self.counting = False
                sys.settrace(None)
                sys.setprofile(None)

    @property
    def _counted(self) -> bool:
        return self.counting and of_request()

    def _enter(self, frame: FrameType, _event: str, _: object) -> Callable[..., Any]:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, _frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        if event == "opcode" and self._counted:
            self.counts.instructions += 1
        return self._step

    def _profile(self, _frame: FrameType, event: str, _: object) -> None:
        if event in _CALLS and self._counted:
            self.counts.calls += 1

    def _watch(self, connection: apsw.Connection) -> None:
        def ran(event: dict[str, Any]) -> None:
            statement, status = (id(connection), event["id"]), event["stmt_status"]
            runs, steps = status[_RUNS], status[_STEPS]
            runs_before, steps_before = self._before.get(statement, (0, 0))
            self._before[statement] = runs, steps
            if self.counting:
                self.counts.statements += 1
                self.counts.steps += steps - steps_before if runs > runs_before else steps

        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, ran)
