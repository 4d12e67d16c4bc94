"""Which memories of one agent become one, and which of them is kept (docs/tiers.md, Consolidation).

The rule: of memories that say the same, the one that tells the most numbers, dates and names is kept, and of those that
tell as many the newest. The others stay, superseded by it, and lead to it.
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
"""Merges that a dry run or an undo names."""
_DAY_MS: Final = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Merge:
    """A memory that another one takes the place of, since that says all that it says.

    Attributes:
        kind: What both are; a fact and a text are never merged.
    """

    agent_id: str
    other_id: str
    kept_id: str
    kind: MergeKind


@dataclass(frozen=True, slots=True)
class Mergeable:
    """A memory that holds, as it is compared with others of its agent.

    Attributes:
        told: Of its metadata the fact and the speaker.
        happened_at: When it was said, in ms since the epoch.
        occurred_at: The same where whoever stored it has told it.
        speakers: The speakers for whom alone its author may speak; None: for anybody.
        learned: Whether a language model has made it of messages.
        is_read: Whether a reader has said what kind of memory it is.
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
        """Whether it was told in three parts."""
        return "fact" if not self.learned and fact_in(self.told) is not None else "memory"

    @property
    def speaker(self) -> str:
        """Who speaks in it, in lower case; empty where nobody is named."""
        return speaker_of(self.content, self.told).strip().lower()

    @property
    def is_of_a_machine(self) -> bool:
        """Whether no person says it."""
        return self.speaker in MACHINES or is_system(self.speaker)

    @property
    def said_by(self) -> tuple[object, ...]:
        """Who says it, and for whom its author may speak: only memories that have this in common are merged.

        What a model has learned is merged with what a model has learned, and an instruction with an instruction.
        """
        bound = None if self.speakers is None else tuple(sorted(self.speakers))
        return self.kind, self.speaker, bound, self.learned, self.type

    @property
    def day(self) -> int:
        """The day on which it was said (UTC), counted from the epoch."""
        return self.happened_at // _DAY_MS

    @property
    def own_day(self) -> int | None:
        """The day that its teller gave, while nobody has read whether it is an event: two may be of one wording."""
        return None if self.occurred_at is None or self.is_read or self.kind == "fact" else self.day

    @property
    def wording(self) -> tuple[object, ...]:
        """What those have in common that say the same word for word: a fact its parts, a text its words, as written."""
        fact = fact_in(self.told) if self.kind == "fact" else None
        if fact is None:
            return *self.said_by, as_written(self.content)
        parts = (fact.subject, fact.predicate.replace("_", " "), fact.object)
        return *self.said_by, fact.confident, fact.single, *map(as_written, parts)


@dataclass(slots=True)
class _Wording:
    """Memories of one wording: of each (id, when it was said, the day of its own)."""

    is_of_its_day: bool | None = None
    """Whether it says another thing on another day ("tomorrow"); None: only one memory has it so far."""
    memories: list[tuple[int, str, int | None]] = field(default_factory=list)


class Wordings:
    """Memories of one agent by their wording."""

    def __init__(self) -> None:
        """Have none."""
        self._wordings: defaultdict[bytes, _Wording] = defaultdict(_Wording)
        self._kinds: dict[bytes, MergeKind] = {}

    def __len__(self) -> int:
        """Return how many wordings there are."""
        return len(self._wordings)

    def add(self, memory: Mergeable) -> bool:
        """Add a memory; return whether it has to be told if this wording ``is_of_its_day``."""
        wording = self._wordings[_number(memory)]
        self._kinds[_number(memory)] = memory.kind
        wording.memories.append((memory.happened_at, memory.id, memory.own_day))
        return len(wording.memories) > 1 and wording.is_of_its_day is None

    def tell(self, memory: Mergeable, *, is_of_its_day: bool) -> None:
        """Tell of a wording whether it says another thing on another day."""
        self._wordings[_number(memory)].is_of_its_day = is_of_its_day

    def merges(self, agent_id: str) -> Sequence[Merge]:
        """Return what is merged of them: the newest of those that say the same is kept."""
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
    """One of two memories that restate each other: ``tells`` counts its numbers, dates and names."""

    id: str
    happened_at: int
    tells: int
    learned: bool

    @property
    def rank(self) -> tuple[int, int, str]:
        """By which the one that is kept comes last."""
        return self.tells, self.happened_at, self.id

    def may_be_kept(self, other: "Restated") -> bool:
        """Tell whether it may take the other's place: what was learned may be of a topic, where the later one holds."""
        return not self.learned or (self.happened_at, self.id) > (other.happened_at, other.id)


def merges_of(agent_id: str, pairs: Iterable[tuple[Restated, Restated]]) -> Sequence[Merge]:
    """Return what is merged of pairs that restate each other, of which the second says all that the first says.

    Of all of them the one of the highest rank is kept in the place of its partners, then the next of those that are
    left: so no merge leads to a memory that is merged itself, and what was merged before makes no difference.
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
        finished_at: None: it is under way.
        undone_at: None: what it has merged is merged.
        memories: Texts that were merged into others.
        facts: Facts that were merged into others.
        chains: Chains of superseded memories that were given a way straight to their ends.
        tasks: Tasks that had expired and were closed: deleted.
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
        """How long it took, 0 where the database's clock went back; None while it is under way."""
        return None if self.finished_at is None else max(0, self.finished_at - self.started_at)


@dataclass(frozen=True, slots=True)
class ConsolidationForecast:
    """What a consolidation would merge of an agent's memories.

    Attributes:
        merges: The first of them.
        at_least: Whether not all memories were looked at: then the counts say how many at least.
    """

    memories: int
    facts: int
    merges: Sequence[Merge]
    at_least: bool


@dataclass(frozen=True, slots=True)
class ConsolidationUndone:
    """What the undo of a consolidation has done or, as a dry run, would do.

    Attributes:
        memories: How many memories and facts hold again.
        merges: The first of them, with what they had been merged into.
        more: Whether there is more: undo again.
    """

    consolidation_id: str
    dry_run: bool
    memories: int
    merges: Sequence[Merge]
    more: bool
