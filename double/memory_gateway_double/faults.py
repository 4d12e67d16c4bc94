"""What is to go wrong, how often, and for which operations."""

import random
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

import orjson

Kind = Literal[
    "status",
    "delay",
    "hang",
    "cut",
    "half_body",
    "invalid_json",
    "wrong_dimensions",
    "wrong_indexes",
    "after_effect_cut",
    "stop_batch",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong.

    ``operation`` is a pattern such as ``vectorize.*``. It happens to the next ``times`` calls (None: to all,
    until cleared), or to a seeded ``share`` of all calls, 0 to 1. ``delay_seconds`` are real seconds from a call's
    arrival to its answer, with any kind: the work is done at once, and what it takes is part of them. The kinds:

    - ``status``: answers ``status`` with ``body``, or with what the real service would say; nothing is done.
    - ``delay``: answers as usual, but later.
    - ``hang``: never answers.
    - ``cut``: closes the connection before anything is done.
    - ``after_effect_cut``: does the work, then closes the connection without an answer.
    - ``half_body``: does the work, then sends half of the answer and closes the connection.
    - ``invalid_json``: does the work, then answers a body that breaks off.
    - ``wrong_dimensions``: embeddings come back one dimension short; other operations answer as usual.
    - ``wrong_indexes``: the last result of a reranking has an index beyond the texts; others answer as usual.
    - ``stop_batch``: a D1 batch keeps its first ``stop_batch_after`` statements, then the connection is closed.
    """

    operation: str = "*"
    status: int | None = None
    body: bytes | dict[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    delay_seconds: float = 0
    kind: Kind = "status"
    times: int | None = 1
    share: float | None = None
    stop_batch_after: int | None = None

    def __post_init__(self) -> None:
        """Take the kind from what else is given, where it is not told.

        Raises:
            ValueError: the fault says nothing, or something impossible.
        """
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}")
        if self.kind == "status" and self.status is None:
            told: Kind | None = "stop_batch" if self.stop_batch_after is not None else None
            told = told or ("delay" if self.delay_seconds else None)
            if told is None:
                raise ValueError("a fault needs a status, a kind or a delay")
            object.__setattr__(self, "kind", told)
        if self.share is not None and not 0 <= self.share <= 1:
            raise ValueError("share must be between 0 and 1")
        if self.times is not None and self.times < 1:
            raise ValueError("times must be at least 1")

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return orjson.dumps(self.body) if isinstance(self.body, dict) else self.body


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to one call: a wait, and at most one fault."""

    delay_seconds: float = 0
    fault: Fault | None = None


@dataclass(slots=True)
class _Armed:
    fault: Fault
    random: random.Random
    left: int | None
    happened: int = field(default=0)

    def strikes(self) -> bool:
        """Whether this call is hit; counts it if so."""
        if self.fault.share is not None and self.random.random() >= self.fault.share:
            return False
        self.happened += 1
        if self.left is not None:
            self.left -= 1
        return True


class Faults:
    """The faults that wait for their calls. Delays add up; of the others the first added strikes alone."""

    def __init__(self, seed: int = 0) -> None:
        """Draw shares from this seed."""
        self._seed = seed
        self._lock = threading.Lock()
        self._armed: list[_Armed] = []
        self._added = 0

    def add(self, fault: Fault) -> None:
        """Arm a fault."""
        with self._lock:
            self._added += 1
            drawn = random.Random(f"{self._seed}/{self._added}")  # noqa: S311 - chance, no secret
            self._armed.append(_Armed(fault, drawn, None if fault.share is not None else fault.times))

    def clear(self) -> None:
        """Disarm all."""
        with self._lock:
            self._armed.clear()

    def plan(self, operation: str) -> Plan:
        """Decide what happens to one call of the operation."""
        if not self._armed:
            return Plan()
        delay, struck = 0.0, None
        with self._lock:
            for armed in self._armed:
                if not fnmatchcase(operation, armed.fault.operation):
                    continue
                if armed.fault.kind != "delay" and struck is not None:
                    continue
                if not armed.strikes():
                    continue
                delay += armed.fault.delay_seconds
                if armed.fault.kind != "delay":
                    struck = armed.fault
            self._armed = [armed for armed in self._armed if armed.left != 0]
        return Plan(delay, struck)

    def listed(self) -> list[dict[str, Any]]:
        """Return each armed fault as JSON, with how many calls are left to hit and how many were hit."""
        with self._lock:
            return [{**_as_json(armed.fault), "left": armed.left, "happened": armed.happened} for armed in self._armed]


def read_fault(content: Mapping[str, Any]) -> Fault:
    """Read a fault from JSON; ``body`` may be an object or a text.

    Raises:
        ValueError: it is not a fault.
    """
    given = dict(content)
    if isinstance(given.get("body"), str):
        given["body"] = given["body"].encode()
    try:
        return Fault(**given)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _as_json(fault: Fault) -> dict[str, Any]:
    content = asdict(fault)
    if isinstance(fault.body, bytes):
        content["body"] = fault.body.decode("utf-8", "replace")
    return content
