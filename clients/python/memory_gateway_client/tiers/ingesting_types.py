"""What the service answers of ingestions."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LearningPasses:
    """Parts of a conversation, each of which a language model reads at once."""

    done: int
    failed: int
    waiting: int


@dataclass(frozen=True, slots=True)
class LearningProposals:
    """Memories that a language model has proposed, by what became of them.

    Attributes:
        to_verify: Those that it checks next.
        to_learn: Those that it has checked, and that are to be written.
        learned: Those that are memories.
        known: Those that say what a memory said already.
        corrected: Of all, those that it has corrected when it checked them.
        dropped: Those that their messages do not support, or that another one says.
        failed: Those for which the model, or the room for them, was missing.
        superseded: Memories that hold no longer because of those that were learned.
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
    """A pass that was not read, with a problem's ``code``."""

    number: int
    kind: str
    message_ids: tuple[str, ...]
    code: str


@dataclass(frozen=True, slots=True)
class ProposedMemory:
    """A memory that a language model has proposed.

    Attributes:
        message_ids: The messages that it cites.
        supersedes: Memories that hold no longer because of it.
        type: ``fact``, ``instruction``, ``event`` or ``task``.
        topic: What it is about: one of a topic holds at a time.
        memory_id: The memory that says it.
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
    """What a language model has made of the messages; the lists have the first of each, the counts are of all.

    Attributes:
        status: ``running``, ``done`` or ``failed``.
        unread: Passes that have failed.
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
class IngestedMessage:
    """What became of a message.

    Attributes:
        status: ``stored``, ``known``, ``waiting`` (it becomes a memory later) or ``failed``.
        code: Why it has failed, as a problem's code.
    """

    id: str
    status: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of each message so far, in the order in which they were sent.

    Attributes:
        status: Of the ingestion: ``running``, ``done`` or ``failed``.
        waiting: How many are kept and are no memories yet: ``ingestion`` tells when they are.
        operation_id: What ``ingestion`` is asked with; None where every message was known.
        dry_run: True where this is what would become of them.
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
        status: ``running``, ``done`` or ``failed``.
        sent: Messages that were sent.
        known: Of these, those that were memories already.
        stored: Of these, those that have become memories so far.
        failure: Why the others will never be stored, as a problem's code.
        learning: What a language model has made of the messages; None where none reads them.
    """

    id: str
    status: str
    agent_id: str
    session_id: str
    accepted_at: datetime
    sent: int
    known: int
    stored: int
    kind: str = "ingest"
    ended_at: datetime | None = None
    failure: str | None = None
    learning: Learning | None = None
