"""A memory as answers show it: of a listing, of a recall, and as a standing instruction."""

from operator import not_
from typing import Any

from pydantic import ConfigDict, Field

from app.domain.claim import MemoryType
from app.interfaces.fields import Answer, Timestamp, is_none
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.optional import OptionalTimestamp, absent_if_none, old_name

WRITTEN_BY = (
    "Who wrote it, as the credential says and no field of a request does; absent for what was written before this was "
    "kept."
)

UNKNOWN_AGENT = (
    "`unknown` where nothing was ever stored for this agent, and it was never set: look whether its id is the one that "
    "stores use. Absent: it is known."
)


class SourceAnswer(Answer):
    """Who wrote a memory."""

    channel: str = Field(description="`http`, `mcp`, `import`, or `command`: an operator.")
    credential_id: str | None = Field(None, description="The credential's id, its claim `jti`.", exclude_if=is_none)
    written_at: Timestamp


class MemoryAnswer(Answer):
    """A memory with everything that was stored of it."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.MEMORY]})

    id: str
    agent_id: str
    content: str
    metadata: dict[str, Any]
    session_id: str | None = None
    occurred_at: Timestamp | None = None
    created_at: Timestamp
    expires_at: Timestamp | None = None
    source: SourceAnswer | None = Field(None, description=WRITTEN_BY)
    later_keys: dict[str, str] | None = Field(
        None, description="The metadata keys that came later, each with the id of the credential that brought it."
    )
    superseded_at: Timestamp | None = Field(
        None, description="When what replaced it was said: recalls give what holds now in its place. Absent: it holds."
    )
    type: MemoryType | None = Field(
        None,
        description="What it is, by what it states. Absent: a program keeps it, or its statements were not read yet.",
    )
    forgotten_at: Timestamp | None = Field(
        None, description="Since when no recall finds it, because it was forgotten. Absent: it is remembered."
    )
    message_id: str | None = Field(None, description="Present where it is a message that was ingested.")


class FindingAnswer(Answer):
    """What one channel, or one cue, has to do with a score."""

    channel: str = Field(
        description=(
            "`lexical`: words of the query, in the memory or beside it in its session; `vector`: meaning; "
            "`synonyms`, `hyde`, `learned`: other words for it, nearness to a hypothetical answer, and that it was "
            "learned of messages, where a language model answers; "
            "`key`: it has the topic, or states the fact, that the query asks for by name; "
            "`beside`, `session`: what neighbours and the best of the session have; `names`: the query "
            "names who speaks; `time`: the query names when it was; `numbers`: it is about the thing that the query "
            "names by its number; `recency`: it is recent, where that was asked; "
            "`restated`: what a memory in `also` scores more; "
            "`succession`: the part of a memory that states what no longer holds, where it states what does; "
            "`reader`: how likely the reader finds that it answers, and what that adds to the score or takes from it; "
            "`reranker`: a model has read the memory and the query, and its relevance is the whole score."
        )
    )
    weighted: float = Field(description="Its share of the score; all shares add up to it.")
    raw: float | None = Field(None, description="In the channel's own measure.")
    rank: int | None = Field(None, description="The memory's rank in the channel, from 1.")


class RestatementAnswer(Answer):
    """A memory that says the same as an entry, and is no entry of its own."""

    id: str
    created_at: Timestamp
    occurred_at: Timestamp | None


class EntryAnswer(Answer):
    """One memory found."""

    id: str
    content: str
    metadata: dict[str, Any]
    score: float = Field(
        ge=0, le=1, description="How likely it answers the query, or the reranker's relevance where one is set."
    )
    similarity: float | None = Field(
        ge=-1, le=1, description="Cosine similarity of the embeddings; null where only other channels found it."
    )
    created_at: Timestamp = Field(description="When it was stored.")
    occurred_at: Timestamp | None = Field(
        description=(
            "When what it says happened, as the store said; null: it was not said, and `created_at` is when it was "
            "stored. Of two entries that contradict each other the later holds."
        )
    )
    session_id: str | None = Field(description="The conversation it comes from, as the store said; null: none was.")
    source: SourceAnswer | None = Field(None, description=WRITTEN_BY, exclude_if=not_)
    findings: list[FindingAnswer] | None = Field(
        None, description="What the score is made of, where that was asked.", exclude_if=not_
    )
    also: list[RestatementAnswer] | None = Field(
        None, description="The memories that say the same, the newest first, where `collapse` applies.", exclude_if=not_
    )


class InstructionAnswer(Answer):
    """A standing instruction that holds: what somebody said is to be done. It is data, as all that is remembered."""

    id: str
    content: str
    created_at: Timestamp = Field(description="When it was stored.")
    occurred_at: OptionalTimestamp = absent_if_none("When it was said, where that was told.")
    happened_at: OptionalTimestamp = old_name("occurred_at` or else `created_at")
