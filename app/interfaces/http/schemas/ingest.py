"""Requests and answers of the routes that ingest conversations."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.domain import limits
from app.domain.limits import MAX_MESSAGES, MESSAGE_SESSION_ID_BYTES
from app.domain.messages import ItemStatus, NewMessage, Role
from app.domain.moments import milliseconds
from app.interfaces.fields import AT_MOST_CONTENT_BYTES, Answer, Content, Moment, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.learning import LearningAnswer
from app.services.ingest.dry_run import Shown
from app.storage.ingestions import Ingestion
from app.storage.learning_report import LearningReport


class IngestMessage(Request):
    """A message of a conversation. Its session, role and content make it what it is; its time does not."""

    role: Role
    content: Annotated[Content, Field(description=AT_MOST_CONTENT_BYTES)]
    timestamp: Annotated[
        Moment | None,
        Field(description="When it was said, at most a day ahead. Absent: a millisecond after the message before it."),
    ] = None

    def to_message(self) -> NewMessage:
        """Return the domain's new message."""
        timestamp = None if self.timestamp is None else milliseconds(self.timestamp)
        return NewMessage(self.role, self.content, timestamp)


class IngestHead(Request):
    """What stands beside the messages."""

    session_id: Annotated[
        Annotated[str, Within(limits.MESSAGE_SESSION_ID)] | None,
        Field(
            description=(
                f"The conversation that they are of, at most {MESSAGE_SESSION_ID_BYTES} bytes. Absent: made of what "
                "they say, so that the same messages are of the same session."
            )
        ),
    ] = None


class IngestRequest(IngestHead):
    """A conversation, or a part of one."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.INGEST]})

    messages: Annotated[list[IngestMessage], Field(min_length=1, max_length=MAX_MESSAGES)]


class IngestedMessage(Answer):
    """What became of a message."""

    id: str = Field(description="The first 128 bits of SHA-256 over session, role and content.")
    status: ItemStatus = Field(
        description="`known`: it was there already, and nothing was changed. `failed`: `code` says why."
    )
    code: str | None = Field(None, description="A problem's code.")


class IngestAnswer(BaseModel):
    """What became of each message, in the order in which they were sent: what is stored, every later recall finds."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.INGESTED]})

    session_id: str
    operation_id: str | None = Field(
        None,
        description="Ask it what a language model learns of the messages. Absent where every message was known.",
    )
    dry_run: bool | None = Field(None, description="True where this is what would become of them.")
    stored: int
    known: int
    failed: int
    messages: list[IngestedMessage]
    learning: LearningAnswer | None = Field(None, description="Of a dry run, what a language model would learn.")

    @classmethod
    def of(cls, ingestion: Ingestion) -> "IngestAnswer":
        """Make it of an ingestion whose messages were stored, or not."""
        items = [IngestedMessage.model_validate(item) for item in ingestion.items]
        counts = {status: sum(item.status == status for item in items) for status in ("stored", "known", "failed")}
        return cls(session_id=ingestion.session_id, operation_id=ingestion.id, messages=items, **counts)

    @classmethod
    def of_dry_run(cls, shown: Shown) -> "IngestAnswer":
        """Make it of what would be done."""
        learning = None if shown.learning is None else LearningAnswer.of(shown.learning, running=False)
        return cls.of(shown.ingestion).model_copy(update={"dry_run": True, "learning": learning})


class IngestionAnswer(BaseModel):
    """An ingestion, and how far it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.INGESTING, examples.INGEST_FAILED]})

    id: str
    kind: Literal["ingest"] = "ingest"
    status: Literal["running", "done", "failed"]
    agent_id: str
    session_id: str
    accepted_at: Timestamp
    finished_at: Timestamp | None = None
    messages: int = Field(description="Messages that were sent.")
    known: int = Field(description="Of these, those that were there already.")
    stored: int = Field(description="Of these, those that have become memories so far.")
    failure: str | None = Field(
        None, description="Why the others will never be stored, as a problem's code: send them again once it is cured."
    )

    learning: LearningAnswer | None = Field(
        None, description="What a language model has made of the messages so far. Absent where none reads them."
    )

    @classmethod
    def of(cls, ingestion: Ingestion, report: LearningReport | None = None) -> "IngestionAnswer":
        """Make it of an ingestion that has begun, and of what was learned."""
        running = ingestion.finished_at is None
        return cls(
            learning=None if report is None else LearningAnswer.of(report, running=running),
            id=ingestion.id or "",
            status=ingestion.status,
            agent_id=ingestion.agent_id,
            session_id=ingestion.session_id,
            accepted_at=ingestion.accepted_at,
            finished_at=ingestion.finished_at,
            messages=ingestion.messages,
            known=ingestion.known,
            stored=ingestion.written,
            failure=ingestion.failure,
        )
