"""What was asked and answered, and whether the answers fit a service where everything happens at one moment.

A memory is a register: a store and a delete each take effect at some moment between their beginning and their
end, or, where nobody was told how they ended, at any moment after their beginning or never.
"""

import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tests.process.memories import Memory

TOP_K = 20
Kind: TypeAlias = Literal["store", "delete"]


@dataclass(slots=True)
class Operation:
    """A store or a delete; it has no end while it is under way, and none ever where its answer was lost."""

    kind: Kind
    began: float
    ended: float = math.inf
    about: str = ""

    def told(self, answer: str) -> None:
        """Note an answer that leaves open whether it was done."""
        self.about += f" {answer}"

    def acknowledged(self, answer: str) -> None:
        """Note that it was done."""
        self.ended = time.monotonic()
        self.told(answer)

    def text(self, zero: float) -> str:
        ended = "?" if self.ended == math.inf else f"{self.ended - zero:.3f}"
        return f"{self.kind}{self.about} {self.began - zero:.3f}-{ended}"


@dataclass(slots=True)
class History:
    """All that happened, and in ``violations`` what cannot have."""

    violations: list[str] = field(default_factory=list)
    _zero: float = field(default_factory=time.monotonic)
    _operations: defaultdict[Memory, list[Operation]] = field(default_factory=lambda: defaultdict(list))
    _gone: dict[str, float] = field(default_factory=dict)
    _memories: dict[str, Memory] = field(default_factory=dict)

    def begin(self, kind: Kind, memory: Memory, about: str = "") -> Operation:
        """Note that a store or a delete is about to be sent."""
        operation = Operation(kind, time.monotonic(), about=about)
        self._operations[memory].append(operation)
        return operation

    def deleted(self, memory_id: str) -> None:
        """Note that the delete of an id was acknowledged."""
        self._gone.setdefault(memory_id, time.monotonic())

    def stands(self, memory: Memory, at: float) -> bool:
        """Whether a memory must be found by what begins now: stored before, and by now not even being deleted."""
        operations = self._operations.get(memory, [])
        last = max((operation.ended for operation in operations if operation.kind == "delete"), default=-math.inf)
        return any(o.kind == "store" and last < o.began and o.ended < at for o in operations)

    def recalled(
        self,
        asked: Memory,
        entries: Sequence[Mapping[str, Any]],
        *,
        began: float,
        by: str,
        must: bool = False,
        whole: bool = True,
    ) -> None:
        """Compare what the content of a memory recalled, just now, with what was acknowledged before it was asked.

        ``must``: it is known to be held. Not ``whole``: the answer says of itself that the index had no part in it.
        """
        contents = [entry["content"] for entry in entries]
        if asked.content not in contents and (must or (whole and self.stands(asked, began))):
            self._violated("is not recalled", asked, began, by)
        if len(entries) > TOP_K or len(set(contents)) < len(contents):
            self._violated(f"recalls {len(entries)} entries, {len(set(contents))} of them different", asked, began, by)
        for entry in entries:
            self.shown(str(entry["id"]), Memory(asked.agent_id, entry["content"]), began=began, by=by)

    def shown(self, memory_id: str, memory: Memory, *, began: float, by: str) -> None:
        """Check that what an answer shows was stored, and was not deleted before it was asked."""
        if memory not in self._operations:
            self._violated("was never stored", memory, began, by)
        if self._memories.setdefault(memory_id, memory) != memory:
            self._violated(f"has the id {memory_id} of another: {self._memories[memory_id]}", memory, began, by)
        if self._gone.get(memory_id, math.inf) < began:
            self._violated(f"is shown as {memory_id}, which was deleted", memory, began, by)

    def held(self, rows: Mapping[str, Memory]) -> None:
        """Compare all that the database holds in the end, by id, with what was acknowledged."""
        now = time.monotonic()
        for memory_id, memory in rows.items():
            self.shown(memory_id, memory, began=now, by="the database")
        for memory in [memory for memory in self._operations if self.stands(memory, now)]:
            if memory not in rows.values():
                self._violated("is not held", memory, now, "the database")

    def violated(self, what: str) -> None:
        """Note what cannot have happened."""
        self.violations.append(what)

    def _violated(self, what: str, memory: Memory, began: float, by: str) -> None:
        operations = self._operations.get(memory, [])
        trace = "; ".join(o.text(self._zero) for o in sorted(operations, key=lambda o: o.began))
        asked = f"{began - self._zero:.3f}-{time.monotonic() - self._zero:.3f} by {by}"
        self.violated(f"{memory} {what} at {asked}, after: {trace or 'nothing'}")
