"""Requests and answers of the routes that ingest conversations."""

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import AliasPath, BaseModel, ConfigDict, Field

from app.domain import limits
from app.domain.limits import MAX_MESSAGES, MESSAGE_SESSION_ID_BYTES
from app.domain.messages import ItemStatus, NewMessage, Role
from app.interfaces.fields import AT_MOST_CONTENT_BYTES, Answer, Content, MomentMs, Request, Timestamp, Within, either
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.learning import LearningAnswer
from app.interfaces.http.schemas.optional import OptionalText, OptionalTimestamp, old_name
from app.interfaces.http.schemas.store import RunOfRequest
from app.services.ingest.dry_run import Shown
from app.storage.ingestions import Ingestion
from app.storage.learning_report import LearningReport

OperationStatus: TypeAlias = Literal["running", "done", "failed"]


class IngestMessage(Request):
    """A message of a conversation. Its session, role and content make it what it is; its time does not."""

    role: Role
    content: Annotated[Content, Field(description=AT_MOST_CONTENT_BYTES)]
    occurred_at: Annotated[
        MomentMs | None,
        Field(
            description="When it was said, at most a day ahead. Absent: a millisecond after the message before it.",
            validation_alias=either("occurred_at", "timestamp"),
        ),
    ] = None

    def to_message(self) -> NewMessage:
        """Return the domain's new message."""
        return self.to(NewMessage)


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
    run_id: RunOfRequest = None


class IngestRequest(IngestHead):
    """A conversation, or a part of one."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.INGEST]})

    messages: Annotated[list[IngestMessage], Field(min_length=1, max_length=MAX_MESSAGES)]


class IngestedMessage(Answer):
    """What became of a message."""

    id: str = Field(description="The first 128 bits of SHA-256 over session, role and content.")
    status: ItemStatus = Field(
        description=(
            "`stored`: it has become a memory. `known`: it was one already, and nothing was changed. `waiting`: it is "
            "kept, and becomes one later. `failed`: `code` says why."
        )
    )
    code: str | None = Field(None, description="A problem's code.")


class IngestAnswer(BaseModel):
    """What became of each message so far, in the order in which they were sent.

    What is stored or known, every later recall finds. The answer is 202 while a message is waiting, else 200.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [examples.INGESTED, examples.INGESTING]})

    session_id: str
    operation_id: str | None = Field(
        None,
        description=(
            "The operation, which tells how far it is and what a language model learns of the messages. Absent where "
            "every message was known."
        ),
    )
    status: OperationStatus = Field(
        description="Of the operation: `running` also where all is stored, and a language model still learns of it."
    )
    dry_run: bool | None = Field(None, description="True where this is what would become of them.")
    stored: int
    known: int
    waiting: int = Field(description="Messages that are kept and are no memories yet: the operation goes on.")
    failed: int
    messages: list[IngestedMessage]
    learning: LearningAnswer | None = Field(None, description="Of a dry run, what a language model would learn.")

    @classmethod
    def of(cls, ingestion: Ingestion) -> "IngestAnswer":
        """Make it of an ingestion whose messages were stored, or not."""
        items = [IngestedMessage.model_validate(item) for item in ingestion.items]
        counts = {status: sum(item.status == status for item in items) for status in get_args(ItemStatus)}
        return cls(
            session_id=ingestion.session_id,
            operation_id=ingestion.id,
            status=ingestion.status,
            messages=items,
            **counts,
        )

    @classmethod
    def of_dry_run(cls, shown: Shown) -> "IngestAnswer":
        """Make it of what would be done."""
        learning = None if shown.learning is None else LearningAnswer.of(shown.learning, running=False)
        return cls.of(shown.ingestion).model_copy(update={"dry_run": True, "learning": learning})


class IngestionAnswer(Answer):
    """An ingestion, and how far it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.INGESTION, examples.INGEST_FAILED]})

    id: str = Field(description="As the answer to the messages had it, in `operation_id`.")
    operation_id: OptionalText = old_name("id", of="id")
    kind: Literal["ingest"] = "ingest"
    status: OperationStatus
    agent_id: str
    session_id: str
    accepted_at: Timestamp
    ended_at: Timestamp | None = Field(None, validation_alias=AliasPath("finished_at"))
    finished_at: OptionalTimestamp = old_name("ended_at")
    sent: int = Field(validation_alias="messages", description="Messages that were sent.")
    known: int = Field(description="Of these, those that were memories already.")
    stored: int = Field(validation_alias="written", description="Of these, those that have become memories so far.")
    failure: str | None = Field(
        None, description="Why the others will never be stored, as a problem's code: send them again once it is cured."
    )

    learning: LearningAnswer | None = Field(
        None, description="What a language model has made of the messages so far. Absent where none reads them."
    )

    @classmethod
    def of(cls, ingestion: Ingestion, report: LearningReport | None = None) -> "IngestionAnswer":
        """Make it of an ingestion that has begun, and of what was learned."""
        answer = cls.model_validate(ingestion)
        if report is not None:
            answer.learning = LearningAnswer.of(report, running=ingestion.finished_at is None)
        return answer
