"""Requests and answers of the routes for administrators and operators."""

from typing import Annotated, Literal, TypeAlias

from pydantic import AliasPath, BaseModel, ConfigDict, Field, create_model

from app.domain import limits
from app.interfaces.fields import Answer, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.kinds import row_counts
from app.interfaces.http.schemas.optional import OptionalTimestamp, old_name

OperationId: TypeAlias = Annotated[
    str, Field(json_schema_extra={"examples": [examples.OPERATION_ID]}), Within(limits.OPERATION_ID)
]


class _ErasedCore(Answer):
    memories: int
    outbox_rows: int = Field(description="Vectors on their way to the index.")
    dead_letters: int = Field(description="Of these, vectors the index had refused.")
    idempotency_keys: int
    messages: int = Field(0, description="Messages that were ingested and were no memories yet.")


ErasedCounts = create_model("ErasedCounts", __base__=_ErasedCore, __doc__="What was erased, by kind.", **row_counts())


class ReceiptAnswer(Answer):
    """The proof of an erasure."""

    ended_at: Timestamp = Field(validation_alias=AliasPath("finished_at"))
    finished_at: OptionalTimestamp = old_name("ended_at")
    erased: ErasedCounts
    found_by_id: int = Field(description="Vectors the index still shows under the erased ids: 0.")
    found_by_search: int = Field(
        description=(
            "Vectors and rows that a search of the scope still finds: 0. Where nothing was stored in the scope, ever "
            "or since its last receipt, the index is not searched again."
        )
    )
    history_until: Timestamp | None = Field(
        None, description="Until when an operator can restore the database to before the erasure (D1 Time Travel)."
    )


class OperationAnswer(Answer):
    """An erasure, and how far it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.ERASING, examples.ERASED]})

    id: str
    kind: Literal["erase"] = "erase"
    status: Literal["running", "done"]
    agent_id: str | None = Field(None, description="Whose memories are erased; absent: the whole tenant's.")
    accepted_at: Timestamp
    memories: int = Field(description="Memories erased so far.")
    receipt: ReceiptAnswer | None = None


class ReadinessQuery(Request):
    """How much to tell."""

    details: Annotated[
        Literal["", "true", "false"],
        Field(
            description=(
                "Whether to tell how the outbox stands, too; this needs the scope `memory admin`. "
                "An empty value is `true`."
            ),
            examples=["true"],
        ),
    ] = "false"


class EraseTenantQuery(Request):
    """Whether the caller means this tenant."""

    confirm: Annotated[
        str,
        Within(limits.AGENT_ID),
        Field(
            description="The tenant that the credential names. Any other value is refused, and nothing is erased.",
            json_schema_extra={"examples": [examples.TENANT]},
        ),
    ]


class EmbeddingConfigAnswer(Answer):
    """What vectors are made with."""

    provider: str
    model: str
    dimensions: int


class PartAnswer(BaseModel):
    """One part of the service: the backend behind it, and why it does not work, if so."""

    name: str
    backend: str
    status: Literal["ok", "failing"]
    code: str | None = None
    detail: str | None = None


class OutboxAnswer(Answer):
    """How the outbox stands, over all tenants: rows by what they wait for, and who works on them."""

    undelivered: int = Field(description="Not taken by the index yet.")
    unconfirmed: int = Field(description="Taken, not known to show yet.")
    confirmed: int = Field(description="Known to show, still scored by recalls for a minute.")
    dead_letters: int = Field(description="Refused by the index: see `memory-gateway outbox`.")
    oldest_undelivered_seconds: float
    delivery_lag_seconds: float = Field(description="Longest time from stored to known visible, of the last minute.")
    erasures: int = Field(description="Erasures under way.")
    lease_holder: str | None = Field(description="The process whose indexer works.")


class CircuitAnswer(Answer):
    """Whether this process makes calls of one kind: it makes none for a while after some that got no answer in time."""

    name: str = Field(description="The service, and the kind of the calls, such as `vectorize.query`.")
    state: Literal["closed", "half_open", "open"] = Field(
        description="`closed`: calls are made. `open`: they are refused. `half_open`: one is made, to see."
    )
    since: Timestamp | None = Field(None, description="Since when it has not been closed; absent where it is.")
    opened: int = Field(description="How often this process has opened it.")
    error: str | None = Field(None, description="The time-out by which it was last opened.")


class ReadinessAnswer(Answer):
    """Whether requests can be served, and by what."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.READY, examples.NOT_READY]})

    status: Literal["ready", "not_ready"]
    embedding_config: EmbeddingConfigAnswer
    parts: list[PartAnswer]
    outbox: OutboxAnswer | None = Field(None, description="With `details`, for an administrator.")
    circuits: list[CircuitAnswer] | None = Field(
        None, description="With `details`: the circuits of the process that answers; each replica has its own."
    )


class HealthAnswer(BaseModel):
    """The process is alive."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.ALIVE]})

    status: Literal["ok"] = "ok"
