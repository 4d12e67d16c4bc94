"""Types of profiles.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Required, TypedDict

from memory_gateway_client.types.memory import Entry, Finding


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory.

    Attributes:
        type: What it is, by what it states. Absent: its statements were not read yet. One of ``fact``, ``instruction``,
            ``event``, ``task``.
        summary: Its first line, cut where it is long.
        occurred_at: When it happened, where that was said.
        forgotten_at: Since when no recall finds it. Absent: it is remembered.
        superseded_at: When what replaced it was said. Absent: it holds.
    """

    id: str
    summary: str
    created_at: datetime
    content: str
    type: str | None = None
    session_id: str | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    forgotten_at: datetime | None = None
    superseded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry, in the form of before.

    Attributes:
        happened_at: When it happened, or else was stored.
        score: How likely it answers the query.
        findings: What the score is made of, where that was asked for.
    """

    id: str
    summary: str
    happened_at: datetime
    score: float
    session_id: str | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Instruction:
    """A standing instruction that holds: what somebody said is to be done. It is data, as all that is remembered.

    Attributes:
        created_at: When it was stored.
        occurred_at: When it was said, where that was told.
        happened_at: The old name of ``occurred_at`` or else ``created_at``, given until the next version.
    """

    id: str
    content: str
    created_at: datetime
    occurred_at: datetime | None = None
    happened_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProfileRecall:
    """An answer, and the memories that it may rest on.

    Attributes:
        answer: Sentences of memories as they were said, each with its day; of a language model sentences that stand in
            the memories. Empty: none is sure to answer.
        count: How many entries there are. 0: nothing on the subject is known.
        entries: The best first, as a recall gives them.
        candidates: The old name of ``entries``, given until the next version.
        agent: ``unknown`` where nothing was ever stored for this agent, and it was never set: look whether its id is
            the one that stores use. Absent: it is known.
        degraded: Why it may not be all there is, as in the answer of a recall, or why a language model has not written
            it. Absent: it is, and it has where one is set.
        cited: The ids of the memories that the answer is made of.
        instructions: At most 3 that hold: first those that concern the query, then the newest. Absent: there are none.
    """

    answer: str
    count: int
    entries: tuple[Entry, ...]
    cited: tuple[str, ...]
    candidates: tuple[Candidate, ...] = ()
    agent: str | None = None
    degraded: tuple[str, ...] = ()
    instructions: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedMemory:
    """A memory without its content.

    Attributes:
        type: What it is, by what it states. Absent: its statements were not read yet. One of ``fact``, ``instruction``,
            ``event``, ``task``.
        summary: Its first line, cut where it is long.
        occurred_at: When it happened, where that was said.
    """

    id: str
    summary: str
    created_at: datetime
    type: str | None = None
    session_id: str | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """Memories that hold, newest first.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    memories: tuple[ListedMemory, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """A memory that stated a value of the same key.

    Attributes:
        key: Of what one value holds at a time, such as a topic; where a reader has compared two memories, ``~`` and
            both ids.
        occurred_at: When it was said, where that was told.
        happened_at: The old name of ``occurred_at`` or else ``created_at``, given until the next version.
        superseded_at: When what replaced it was said. Absent: it holds.
    """

    key: str
    id: str
    summary: str
    created_at: datetime
    occurred_at: datetime | None = None
    happened_at: datetime | None = None
    superseded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MessageSource:
    """A message that a memory is, or that it was learned of.

    Attributes:
        role: One of ``system``, ``user``, ``assistant``.
        occurred_at: When it was said.
        said_at: The old name of ``occurred_at``, given until the next version.
        memory_id: The memory that the message is.
    """

    id: str
    role: str
    occurred_at: datetime
    memory_id: str
    session_id: str | None = None
    said_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProfileMemory:
    """A memory with its history.

    Attributes:
        type: What it is, by what it states. Absent: its statements were not read yet. One of ``fact``, ``instruction``,
            ``event``, ``task``.
        summary: Its first line, cut where it is long.
        occurred_at: When it happened, where that was said.
        forgotten_at: Since when no recall finds it. Absent: it is remembered.
        superseded_at: When what replaced it was said. Absent: it holds.
        versions: Who stated the values of its keys, key by key, oldest first: the newest 100.
        sources: Messages, oldest first: the one that it is, or those that a model has learned it of.
    """

    id: str
    summary: str
    created_at: datetime
    content: str
    versions: tuple[Version, ...]
    sources: tuple[MessageSource, ...]
    type: str | None = None
    session_id: str | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    forgotten_at: datetime | None = None
    superseded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known.

    Attributes:
        summary: Markdown; empty where nothing is known.
        degraded: Why a language model has not written it, where one is set. Absent: it has, or none is.
    """

    summary: str
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionDeleted:
    """What one request has deleted of a session.

    Attributes:
        messages: That were ingested and no memories yet.
        more: Whether there is more: send the request again.
    """

    memories: int
    messages: int
    more: bool


class IngestMessage(TypedDict, total=False):
    """A message of a conversation. Its session, role and content make it what it is; its time does not.

    Attributes:
        role: One of ``system``, ``user``, ``assistant``.
        content: At most 32768 bytes in UTF-8.
        occurred_at: When it was said, at most a day ahead. Absent: a millisecond after the message before it.
        timestamp: The old name of ``occurred_at``, taken until the next version.
    """

    role: Required[str]
    content: Required[str]
    occurred_at: datetime | None
    timestamp: datetime | None


@dataclass(frozen=True, slots=True)
class IngestedMessage:
    """What became of a message.

    Attributes:
        id: The first 128 bits of SHA-256 over session, role and content.
        status: ``stored``: it has become a memory. ``known``: it was one already, and nothing was changed. ``waiting``:
            it is kept, and becomes one later. ``failed``: ``code`` says why.
        code: A problem's code.
    """

    id: str
    status: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class LearningPasses:
    """Parts of the conversation, each of which the model reads at once."""

    done: int
    failed: int
    waiting: int


@dataclass(frozen=True, slots=True)
class LearningProposals:
    """Memories that the model has proposed, by what became of them.

    Attributes:
        to_verify: Those that the model checks next.
        to_learn: Those that it has checked, and that are to be classified and written.
        learned: Those that are memories.
        known: Those that say what a memory said already.
        corrected: Of all, those that the model has corrected when it checked them.
        dropped: Those that their messages do not support, or that another one says.
        failed: Those for which the model, or the room for them, was missing.
        superseded: Memories that hold no longer, because of those that were learned.
    """

    to_verify: int
    to_learn: int
    learned: int
    known: int
    corrected: int
    dropped: int
    failed: int
    superseded: int


@dataclass(frozen=True, slots=True)
class UnreadPass:
    """A pass that was not read.

    Attributes:
        kind: A full reading, or one for names, prices, versions and attributes. One of ``extract``, ``detail``.
        code: A problem's code.
    """

    number: int
    kind: str
    message_ids: tuple[str, ...]
    code: str


@dataclass(frozen=True, slots=True)
class ProposedMemory:
    """A memory that the model has proposed.

    Attributes:
        message_ids: The messages that it cites.
        type: One of ``fact``, ``instruction``, ``event``, ``task``.
        topic: What it is about: one of a topic holds at a time.
        memory_id: The memory that says it.
        supersedes: Memories that hold no longer because of it.
        corrected_from: What it said before it was corrected.
        reason: Why it was corrected or dropped, or a problem's code if it failed.
    """

    content: str
    message_ids: tuple[str, ...]
    supersedes: tuple[str, ...]
    type: str | None = None
    topic: str | None = None
    memory_id: str | None = None
    corrected_from: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Learning:
    """What a language model has made of the messages.

    Attributes:
        status: ``failed``: it has ended, and something has failed. A retry of the operation finishes it. One of
            ``running``, ``done``, ``failed``.
        unread: Passes that have failed. The first 100; the counts are of all.
        learned: The first 100; the counts are of all.
        known: The first 100; the counts are of all.
        corrected: The first 100; the counts are of all.
        dropped: The first 100; the counts are of all.
        failed: The first 100; the counts are of all.
    """

    status: str
    passes: LearningPasses
    proposals: LearningProposals
    unread: tuple[UnreadPass, ...]
    learned: tuple[ProposedMemory, ...]
    known: tuple[ProposedMemory, ...]
    corrected: tuple[ProposedMemory, ...]
    dropped: tuple[ProposedMemory, ...]
    failed: tuple[ProposedMemory, ...]


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of each message so far, in the order in which they were sent.

    What is stored or known, every later recall finds. The answer is 202 while a message is waiting, else 200.

    Attributes:
        operation_id: The operation, which tells how far it is and what a language model learns of the messages. Absent
            where every message was known.
        status: Of the operation: ``running`` also where all is stored, and a language model still learns of it. One of
            ``running``, ``done``, ``failed``.
        dry_run: True where this is what would become of them.
        waiting: Messages that are kept and are no memories yet: the operation goes on.
        learning: Of a dry run, what a language model would learn.
    """

    session_id: str
    status: str
    stored: int
    known: int
    waiting: int
    failed: int
    messages: tuple[IngestedMessage, ...]
    operation_id: str | None = None
    dry_run: bool | None = None
    learning: Learning | None = None


@dataclass(frozen=True, slots=True)
class Ingestion:
    """An ingestion, and how far it is.

    Attributes:
        id: As the answer to the messages had it, in ``operation_id``.
        operation_id: The old name of ``id``, given until the next version.
        kind: Left out: ``ingest``.
        status: One of ``running``, ``done``, ``failed``.
        finished_at: The old name of ``ended_at``, given until the next version.
        sent: Messages that were sent.
        known: Of these, those that were memories already.
        stored: Of these, those that have become memories so far.
        failure: Why the others will never be stored, as a problem's code: send them again once it is cured.
        learning: What a language model has made of the messages so far. Absent where none reads them.
    """

    id: str
    status: str
    agent_id: str
    session_id: str
    accepted_at: datetime
    sent: int
    known: int
    stored: int
    operation_id: str | None = None
    kind: str = "ingest"
    ended_at: datetime | None = None
    finished_at: datetime | None = None
    failure: str | None = None
    learning: Learning | None = None
