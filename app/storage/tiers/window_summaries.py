"""Summaries of what fell out of a window: which turns they are of, and the memories that these are now."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from app.domain.json_types import Json
from app.ports.database import Row
from app.storage.filters import living

MadeBy: TypeAlias = Literal["model", "reader", "sentences"]
"""Who chose what a summary says: a language model, the reader, or nobody: then it is the first sentences."""

# What was forgotten or has expired is told no more; what is deleted is out of it already (0047_window_summaries.sql).
READ_SUMMARIES = f"""
SELECT own.first_place, own.last_place, own.turns, own.since, own.until, own.made_by, own.sentences, (
  SELECT json_group_array(memory.id) FROM json_each(own.memories) AS named CROSS JOIN long_term_memory AS memory
  WHERE memory.id = named.value AND +memory.tenant_id = ?1 ->> 'tenant_id'
    AND +memory.agent_id = ?1 ->> 'agent_id' AND memory.forgotten_at IS NULL AND {living("memory")}
) AS memories
FROM working_summary AS own
WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.agent_id = ?1 ->> 'agent_id' AND own.instance = ?1 ->> 'instance'
ORDER BY own.last_place
"""


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence of a summary.

    Attributes:
        memories: The ids of the memories that it rests on, at least one.
        weight: How telling it is, 0 to 1: of many the most telling are kept.
    """

    text: str
    memories: Sequence[str]
    weight: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What sums up turns that fell out of a window; ``since`` and ``until`` in milliseconds since the epoch.

    Attributes:
        first_place: The place that its first turn had in the window; ``last_place``: of its last.
        turns: How many they are.
        since: When its first turn was said; ``until``: its last.
        memories: The ids of memories that its turns are: those that its sentences rest on come first.
        sentences: What it says, in the order in which that was said.
    """

    first_place: int
    last_place: int
    turns: int
    since: int
    until: int
    made_by: MadeBy
    memories: Sequence[str]
    sentences: Sequence[SummarySentence]

    @property
    def id(self) -> str:
        """The places of its first and its last turn: what is made again of the same turns is the same summary."""
        return f"{self.first_place}-{self.last_place}"

    @property
    def text(self) -> str:
        """Its sentences, each in a line."""
        return "\n".join(sentence.text for sentence in self.sentences)

    def written(self, instead_of: Sequence["Summary"]) -> Mapping[str, Json]:
        """Return it as ``working_fall`` takes it, with the summaries whose place it takes."""
        return {
            "first_place": self.first_place,
            "last_place": self.last_place,
            "turns": self.turns,
            "since": self.since,
            "until": self.until,
            "made_by": self.made_by,
            "memories": list(self.memories),
            "sentences": [
                {"text": each.text, "memories": list(each.memories), "weight": each.weight} for each in self.sentences
            ],
            "instead_of": [{"last_place": each.last_place, "turns": each.turns} for each in instead_of],
        }


def read_summaries(rows: Sequence[Row]) -> list[Summary]:
    """Read the rows of ``READ_SUMMARIES``, without the sentences that rest on a memory which is not there any more."""
    return [_read(row) for row in rows]


def _read(row: Row) -> Summary:
    memories = json.loads(str(row["memories"]))
    sentences = [
        SummarySentence(each["text"], each["memories"], each["weight"]) for each in json.loads(str(row["sentences"]))
    ]
    return Summary(
        **{name: int(row[name] or 0) for name in ("first_place", "last_place", "turns", "since", "until")},
        made_by=cast(MadeBy, row["made_by"]),
        memories=memories,
        sentences=[each for each in sentences if set(memories).issuperset(each.memories)],
    )
