"""The rules by which memories of one agent become one memory (docs/tiers.md, Consolidation).

Of memories that say the same, the memory with the most numbers, dates and names is kept; of memories with equally many,
the newest is kept. The others stay, superseded by the kept memory, and lead to it.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from app.domain.author import is_system, speaker_of
from app.domain.comparing import MACHINES
from app.domain.facts import fact_in
from app.domain.json_types import Json
from app.domain.words import as_written

MergeKind: TypeAlias = Literal["memory", "fact"]
MAX_NAMED: Final = 50
"""How many merges a dry run or an undo names at most."""
_DAY_MS: Final = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Merge:
    """A memory that another memory replaces, since the other says all that it says.

    Attributes:
        kind: The kind of both memories; a fact and a text are never merged.
    """

    agent_id: str
    other_id: str
    kept_id: str
    kind: MergeKind


@dataclass(frozen=True, slots=True)
class Mergeable:
    """A memory that holds, as it is compared with others of its agent.

    Attributes:
        told: The fact and the speaker of the memory's metadata.
        happened_at: When the memory was said, in ms since the epoch.
        occurred_at: The moment that was stored with the memory, in ms since the epoch; None: none was.
        speakers: The only speakers for which the memory's author may speak; None: every speaker.
        learned: Whether a language model has made the memory of messages.
        is_read: Whether a reader has told the memory's kind.
    """

    id: str
    content: str
    told: Mapping[str, Json]
    happened_at: int
    occurred_at: int | None
    speakers: list[str] | None
    type: str | None
    learned: bool
    is_read: bool

    @property
    def kind(self) -> MergeKind:
        """``fact`` for a memory that was stored as a fact, ``memory`` for a text."""
        return "fact" if not self.learned and fact_in(self.told) is not None else "memory"

    @property
    def speaker(self) -> str:
        """The memory's speaker, in lower case; empty where the memory names none."""
        return speaker_of(self.content, self.told).strip().lower()

    @property
    def is_of_a_machine(self) -> bool:
        """Whether the speaker is a machine."""
        return self.speaker in MACHINES or is_system(self.speaker)

    @property
    def said_by(self) -> tuple[object, ...]:
        """The kind, the speaker and more, which memories must have in common to be merged.

        A learned memory is merged with learned memories only, and an instruction with instructions only.
        """
        bound = None if self.speakers is None else tuple(sorted(self.speakers))
        return self.kind, self.speaker, bound, self.learned, self.type

    @property
    def day(self) -> int:
        """The day on which the memory was said (UTC), counted from the epoch."""
        return self.happened_at // _DAY_MS

    @property
    def own_day(self) -> int | None:
        """The day of the moment that was stored with a text, while no reader has told the text's kind; else None.

        Until then the text may be an event, of which two on different days may have one wording.
        """
        return None if self.occurred_at is None or self.is_read or self.kind == "fact" else self.day

    @property
    def wording(self) -> tuple[object, ...]:
        """The key that memories of one wording share: the parts of a fact, or the words of a text, as written."""
        fact = fact_in(self.told) if self.kind == "fact" else None
        if fact is None:
            return *self.said_by, as_written(self.content)
        parts = (fact.subject, fact.predicate.replace("_", " "), fact.object)
        return *self.said_by, fact.confident, fact.single, *map(as_written, parts)


@dataclass(slots=True)
class _Wording:
    """The memories of one wording."""

    is_of_its_day: bool | None = None
    """Whether the wording means another thing on another day ("tomorrow"); None: this is not known yet."""
    memories: list[tuple[int, str, int | None]] = field(default_factory=list)
    """Of each memory: when it was said, its id, and its ``own_day``."""


class Wordings:
    """Memories of one agent by their wording."""

    def __init__(self) -> None:
        """Begin without memories."""
        self._wordings: defaultdict[bytes, _Wording] = defaultdict(_Wording)
        self._kinds: dict[bytes, MergeKind] = {}

    def __len__(self) -> int:
        """Return how many wordings there are."""
        return len(self._wordings)

    def add(self, memory: Mergeable) -> bool:
        """Add a memory; return whether ``tell`` has to be called for its wording: a second memory has it now."""
        wording = self._wordings[_number(memory)]
        self._kinds[_number(memory)] = memory.kind
        wording.memories.append((memory.happened_at, memory.id, memory.own_day))
        return len(wording.memories) > 1 and wording.is_of_its_day is None

    def tell(self, memory: Mergeable, *, is_of_its_day: bool) -> None:
        """Say whether the memory's wording means another thing on another day."""
        self._wordings[_number(memory)].is_of_its_day = is_of_its_day

    def merges(self, agent_id: str) -> Sequence[Merge]:
        """Return the merges of these memories: of memories that say the same, the newest is kept."""
        merges = []
        for number, wording in self._wordings.items():
            alike: defaultdict[tuple[int | None, int | None], list[tuple[int, str]]] = defaultdict(list)
            for at, id_, own_day in wording.memories:
                alike[at // _DAY_MS if wording.is_of_its_day else None, own_day].append((at, id_))
            for memories in alike.values():
                *others, (_, kept_id) = sorted(memories)
                merges += [Merge(agent_id, id_, kept_id, self._kinds[number]) for _, id_ in others]
        return sorted(merges, key=lambda merge: (merge.kept_id, merge.other_id))


def _number(memory: Mergeable) -> bytes:
    return hashlib.blake2b(repr(memory.wording).encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Restated:
    """A memory of a pair that restate each other: ``tells`` counts its numbers, dates and names."""

    id: str
    happened_at: int
    tells: int
    learned: bool

    @property
    def rank(self) -> tuple[int, int, str]:
        """The sort key by which the memory that is kept comes last."""
        return self.tells, self.happened_at, self.id

    def may_be_kept(self, other: "Restated") -> bool:
        """Tell whether this memory may replace the other.

        A learned memory may have a topic, of which the later memory holds: so it replaces only earlier memories.
        """
        return not self.learned or (self.happened_at, self.id) > (other.happened_at, other.id)


def merges_of(agent_id: str, pairs: Iterable[tuple[Restated, Restated]]) -> Sequence[Merge]:
    """Return the merges of pairs that restate each other; the second memory of a pair says all that the first says.

    The memory of the highest rank replaces its partners, then the next of those that are left: so no merge leads to a
    memory that is merged itself, and where some of these merges were made before, the others stay the same.
    """
    others: defaultdict[str, dict[str, Restated]] = defaultdict(dict)
    kept: dict[str, Restated] = {}
    for other, one in pairs:
        others[one.id][other.id] = other
        kept[one.id] = one
    merged: set[str] = set()
    merges = []
    for one in sorted(kept.values(), key=lambda each: each.rank, reverse=True):
        if one.id in merged:
            continue
        partners = [id_ for id_ in sorted(others[one.id]) if id_ not in merged]
        merged.update(partners)
        merges += [Merge(agent_id, id_, one.id, "memory") for id_ in partners]
    return merges


@dataclass(frozen=True, slots=True)
class Consolidation:
    """One consolidation of a tenant's memories. Times are in ms since the epoch.

    Attributes:
        finished_at: When it ended; None: it is under way.
        undone_at: When it was undone; None: its merges stand.
        memories: How many texts were merged into others.
        facts: How many facts were merged into others.
        chains: How many chains of superseded memories were shortened, so that each link leads straight to the end.
        tasks: How many expired tasks were closed, which deletes them.
    """

    id: str
    started_at: int
    finished_at: int | None
    undone_at: int | None
    memories: int
    facts: int
    chains: int
    tasks: int

    @property
    def milliseconds(self) -> int | None:
        """How long the consolidation took, 0 where the database's clock went back; None while it is under way."""
        return None if self.finished_at is None else max(0, self.finished_at - self.started_at)


@dataclass(frozen=True, slots=True)
class ConsolidationForecast:
    """The merges that a consolidation would make of an agent's memories.

    Attributes:
        merges: The first of the merges.
        at_least: Whether not all memories were compared: then the counts are lower bounds.
    """

    memories: int
    facts: int
    merges: Sequence[Merge]
    at_least: bool


@dataclass(frozen=True, slots=True)
class ConsolidationUndone:
    """The result of undoing a consolidation or, as a dry run, its forecast.

    Attributes:
        memories: How many memories and facts hold again.
        merges: The first of the merges that are undone.
        more: Whether more merges are left: the undo has to be called again.
    """

    consolidation_id: str
    dry_run: bool
    memories: int
    merges: Sequence[Merge]
    more: bool
