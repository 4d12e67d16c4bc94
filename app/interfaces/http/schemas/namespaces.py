"""Requests and answers about namespaces, as Cloudflare's Agent Memory has them.

https://developers.cloudflare.com/agent-memory/api/http-api/#namespace-management
"""

from typing import Annotated, Any, Literal, TypeAlias

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from app.domain import limits
from app.interfaces.fields import Answer, Digits, Timestamp, Within
from app.interfaces.http.envelope import Envelope, Page, listed, succeeded
from app.interfaces.http.schemas import examples

ACCOUNT = "023e105f4ecef8ad9ca31a8372d0c353"
NAMESPACE = "support-agent"
_NAMESPACE: dict[str, Any] = {
    "id": examples.OPERATION_ID,
    "name": NAMESPACE,
    "account_id": ACCOUNT,
    "created_at": examples.MOMENT,
    "updated_at": examples.MOMENT,
}

AccountId: TypeAlias = Annotated[
    str,
    Path(description="Any: the tenant is the credential's.", examples=[ACCOUNT]),
    Within(limits.ACCOUNT_ID),
]
NamespaceName: TypeAlias = Annotated[
    str, Path(description="The namespace.", examples=[NAMESPACE]), Within(limits.NAMESPACE)
]
PerPage: TypeAlias = Annotated[
    int,
    Digits,
    Within(limits.PROFILE_PAGE),
    Field(description="The most entries of one page.", json_schema_extra={"examples": [20]}),
]
Cursor: TypeAlias = Annotated[
    str | None,
    WithJsonSchema({"type": "string", "examples": [""]}),
    Field(description="Of `result_info` before, for the same listing; good for 24 hours. Empty: from the beginning."),
]


class CloudflareRequest(BaseModel):
    """Base of requests. What a request does not have is passed over, as Cloudflare's schemas allow it."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class AgentMemoryNamespaceRequest(CloudflareRequest):
    """A namespace to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": NAMESPACE}]})

    name: Annotated[
        str,
        Field(description="Of the tenant's namespaces, the only one so called."),
        Within(limits.NAMESPACE),
    ]


class AgentMemoryNamespacesQuery(CloudflareRequest):
    """Which namespaces to list, in which order."""

    per_page: PerPage = 20
    cursor: Cursor = None
    order: Annotated[Literal["id", "name"], Field(description="What to sort by.", examples=["id"])] = "id"
    direction: Annotated[Literal["asc", "desc"], Field(examples=["asc"])] = "asc"


class AgentMemoryNamespaceAnswer(Answer):
    """A namespace."""

    model_config = ConfigDict(json_schema_extra={"examples": [_NAMESPACE]})

    id: str
    name: str
    account_id: str = Field(description="As the path has it.")
    created_at: Timestamp
    updated_at: Timestamp


class AgentMemoryNamespaceEnvelope(Envelope[AgentMemoryNamespaceAnswer]):
    """One namespace."""

    model_config = ConfigDict(json_schema_extra={"examples": [succeeded(_NAMESPACE)]})


class AgentMemoryNamespacesPage(Page[AgentMemoryNamespaceAnswer]):
    """A page of namespaces."""

    model_config = ConfigDict(json_schema_extra={"examples": [listed(_NAMESPACE)]})
