"""The candidates of one recall, and which of them are neighbours in their session."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Self

from app.domain.author import Provenance, speaker_of
from app.domain.comparing import ComparedStatement, only_asks
from app.domain.embedding import USUAL_SCALE, CosineScale
from app.domain.json_types import Json
from app.domain.words import normalised
from app.retrieval.query.names import WORD
from app.retrieval.query.parsing import Cue

newness = attrgetter("happened_at", "created_at", "id")
"""Returns the key by which candidates of equal evidence are ordered: the newer candidate comes first."""
_is_keyed = attrgetter("keyed")
_SHORT_BYTES = 350
_ASKS = ("?", "\uff1f")
_BEHIND_A_MARK = " \n\r\t\"'\u201d\u2019)]"


@dataclass
class Candidate:
    """A memory that may be an entry. Its fields are the columns of ``app/storage/candidates.sql``."""

    id: str
    content: str
    metadata_json: str
    created_at: int
    happened_at: int
    session_id: str | None
    before: str | None
    """The id of the memory before it in its session, which need not be a candidate."""
    bytes: int
    """Bytes of the whole content."""
    words: int
    """The query's terms that it contains: a bit for each term, by the term's number."""
    occurred_at: int | None = None
    whole: bool = True
    """Whether its content was read, so that it may be an entry; otherwise only its speaker was read."""
    speaker_holds: bool = True
    """Whether its author may speak for the speaker that it names."""
    speakers: Sequence[str] | None = None
    """The only speakers for whom its author may speak, in lower case; None: the author may speak for any speaker."""
    uncompared: bool = False
    """Whether a reader has still to compare it with other memories."""
    learned: bool = False
    """Whether a language model has learned it of messages."""
    written_by: str | None = None
    written_through: str | None = None
    written_at: int | None = None
    expired: bool = False
    forgotten: bool = False
    added: bool = False
    """Whether it is a candidate only because the request names it."""
    superseded: bool = False
    """Whether another memory states what holds now: this one hands its score on to that one, and is no entry itself."""
    keyed: bool = False
    """Whether it states the value of a key that the query asks for."""
    current: str | None = None
    """The successor's id: of the memory that states what holds now in place of what this memory states; or None."""
    until: int | None = None
    """When what it states was replaced; None where it was not."""
    update: float | None = None
    """How likely the successor is an update of it, as a reader has found by comparing both; None: no reader has."""
    message_id: str | None = None
    """The id of the message that it is; read only where a model is to answer."""
    sources: Sequence[str] | None = None
    """The ids of the messages that it was learned of; read only where a model is to answer."""
    after: str | None = None
    """The id of the candidate after it in its session."""

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Return a candidate of the values of its fields; those left out are as the class has them.

        The values are taken as they are: to set each of thirty attributes takes longer than all that ranks a candidate.
        """
        candidate = object.__new__(cls)
        candidate.__dict__ = values
        return candidate

    @cached_property
    def metadata(self) -> Mapping[str, Json]:
        """The metadata that was stored with it."""
        metadata: Mapping[str, Json] = json.loads(self.metadata_json)
        return metadata

    @property
    def source(self) -> Provenance | None:
        """Its author, channel and moment of writing; None for a row from before these were kept."""
        return Provenance.of(self.written_by, self.written_through, self.written_at)

    @property
    def asks(self) -> bool:
        """Whether it only asks, and so states nothing that could be an answer; most texts do not end with a mark."""
        return self.whole and self.content.rstrip(_BEHIND_A_MARK).endswith(_ASKS) and only_asks(self.content)

    @property
    def holds(self) -> bool:
        """Whether it may be an entry: its content was read, it is no added one, and no other memory supersedes it."""
        return self.whole and not (self.superseded or self.added)

    @cached_property
    def folded(self) -> str:
        """Its content without what a collapse ignores: case, white space and Unicode form."""
        return " ".join(normalised(self.content).casefold().split())

    @cached_property
    def told_by(self) -> tuple[str, bool]:
        """Its speaker, in lower case, and whether its author may speak for that speaker.

        Of the same words, those of two speakers are two memories, and who may not speak for a speaker stands for none.
        """
        metadata = self.metadata if '"speaker"' in self.metadata_json else {}
        speaker = speaker_of(self.content, metadata).strip().lower()
        return speaker, self.speaker_holds and (self.speakers is None or speaker in self.speakers)

    @property
    def speaker(self) -> Sequence[str]:
        """The words of its speaker's name, in lower case; none where it names no speaker, or its author may not.

        The text before a colon names the speaker of a turn; in a note it is a heading.
        """
        in_metadata = '"speaker"' in self.metadata_json
        if not self.speaker_holds or not (in_metadata or (self.session_id is not None and ":" in self.content)):
            return []
        metadata = self.metadata if in_metadata else {}
        return WORD.findall(speaker_of(self.content, metadata).lower())

    @cached_property
    def statement(self) -> ComparedStatement:
        """The statement that is compared with other memories."""
        return ComparedStatement(
            self.id,
            self.content,
            self.metadata,
            self.happened_at,
            self.speaker_holds,
            self.speakers,
            self.message_id,
            self.sources or (),
        )

    @property
    def terms(self) -> Sequence[int]:
        """The numbers of the query's terms that it contains."""
        return terms_of(self.words)

    @property
    def length_damping(self) -> float:
        """How much its neighbours' scores count for it, 0 to 1: fully where it is short, less the longer it is."""
        return 1.0 if self.bytes <= _SHORT_BYTES else _SHORT_BYTES / self.bytes


def terms_of(words: int) -> list[int]:
    """Return the numbers of the terms whose bits are set."""
    terms: list[int] = []
    while words:
        bit = words & -words
        terms.append(bit.bit_length() - 1)
        words ^= bit
    return terms


@dataclass(frozen=True, slots=True)
class ScopeStats:
    """Counts of a scope's memories."""

    memories: int = 0
    found: Mapping[str, int] = field(default_factory=dict)
    """How many memories contain a term, by its number in decimals."""


@dataclass(frozen=True)
class Pool:
    """Candidates by id, the counts of their scope, and how near their embeddings are to the query's."""

    candidates: Mapping[str, Candidate]
    stats: ScopeStats = ScopeStats()
    cosines: Mapping[str, float] = field(default_factory=dict)
    """The cosines with the query, by id: of candidates, and of some memories that are no candidates."""
    scale: CosineScale = USUAL_SCALE
    """The scale of the embedding config's cosines."""
    hypothetical: Mapping[str, float] = field(default_factory=dict)
    """The cosines with a hypothetical answer instead of the query, by id."""

    @classmethod
    def of(
        cls,
        candidates: Sequence[Candidate],
        stats: ScopeStats,
        cosines: Mapping[str, float] | None = None,
        scale: CosineScale = USUAL_SCALE,
        hypothetical: Mapping[str, float] | None = None,
    ) -> "Pool":
        """Link the candidates of a session to each other."""
        by_id = {candidate.id: candidate for candidate in candidates}
        for candidate in candidates:
            if candidate.before in by_id:
                by_id[candidate.before].after = candidate.id
        return cls(by_id, stats, cosines or {}, scale, hypothetical or {})

    def neighbours(self, candidate: Candidate, reach: int) -> Sequence[tuple[int, Candidate]]:
        """Return a candidate's neighbours in its session with their distances: those before it, then those after it.

        On each side the nearest comes first.
        """
        near: list[tuple[int, Candidate]] = []
        candidates, id_ = self.candidates, candidate.before
        for distance in range(1, reach + 1):
            if id_ is None or id_ not in candidates:
                break
            near.append((distance, candidates[id_]))
            id_ = candidates[id_].before
        id_ = candidate.after
        for distance in range(1, reach + 1):
            if id_ is None or id_ not in candidates:
                break
            near.append((distance, candidates[id_]))
            id_ = candidates[id_].after
        return near

    @cached_property
    def speakers(self) -> Mapping[str, Sequence[str]]:
        """The words of each candidate's speaker's name, by its id; candidates without a speaker are left out."""
        return {id_: words for id_, candidate in self.candidates.items() if (words := candidate.speaker)}

    @cached_property
    def learned(self) -> Sequence[Candidate]:
        """The candidates that name the messages that they were learned of."""
        return [candidate for candidate in self.candidates.values() if candidate.sources]

    @property
    def cues(self) -> frozenset[Cue]:
        """The cues that the candidates give channels to work with."""
        given: dict[Cue, object] = {
            "hypothetical": self.hypothetical,
            "keys": any(map(_is_keyed, self.candidates.values())),
            "sessions": self.sessions,
            "speakers": self.speakers,
            "learned": self.learned,
        }
        return frozenset(cue for cue, value in given.items() if value)

    @property
    def first_names(self) -> Collection[str]:
        """The first words of the names of the speakers of turns; the text before a note's colon is its label."""
        return {words[0] for id_, words in self.speakers.items() if self.candidates[id_].session_id is not None}

    @cached_property
    def sessions(self) -> Mapping[str, list[Candidate]]:
        """The candidates of each session."""
        sessions: dict[str, list[Candidate]] = {}
        for candidate in self.candidates.values():
            if candidate.session_id is not None:
                sessions.setdefault(candidate.session_id, []).append(candidate)
        return sessions
