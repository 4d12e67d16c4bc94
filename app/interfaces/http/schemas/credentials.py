"""Requests and answers of the routes that list, mint and revoke credentials."""

from typing import Annotated, Any, TypeAlias

from pydantic import ConfigDict, Field, WithJsonSchema

from app.domain import limits
from app.interfaces.fields import Answer, Number, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.browse import ListCursor, ListLimit, OptionalAgent, next_cursor
from app.interfaces.http.schemas.optional import (
    NotNull,
    OptionalText,
    OptionalTimestamp,
    TextWithin,
    absent_if_none,
    optional,
)
from app.services.access.scopes import ACCESS_SCOPES, DEFAULT_SECONDS, AccessScope, CredentialWanted

_SCOPES = {"type": "array", "items": {"type": "string", "enum": [*ACCESS_SCOPES]}, "minItems": 1, "maxItems": 3}
_Speaker: TypeAlias = Annotated[str, Within(limits.SPEAKER)]
CREDENTIAL: dict[str, Any] = {
    "id": examples.CREDENTIAL_ID,
    "agent_id": examples.AGENT_ID,
    "scopes": ["read"],
    "channel": "http",
    "minted_by": "01K2Z4M1V7Q8T3B5N6C7D8E9FB",
    "minted_at": examples.MOMENT,
    "expires_at": examples.MOMENT,
}


class CredentialsQuery(Request):
    """Which credentials to list."""

    agent_id: Annotated[OptionalAgent, Field(description="Only those that are for this agent alone.")] = None
    minted_by: Annotated[
        Annotated[str | None, NotNull, TextWithin(limits.CREDENTIAL_ID, examples.CREDENTIAL_ID)],
        Field(description="Only those that this credential has minted."),
    ] = None
    limit: ListLimit = 20
    cursor: ListCursor = None


class MintRequest(Request):
    """The credential to mint. It reaches no further than the one that asks for it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agent_id": examples.AGENT_ID, "scopes": ["read"]}]})

    agent_id: Annotated[str | None, NotNull, TextWithin(limits.AGENT_ID, examples.AGENT_ID)] = optional(
        "The only agent that it is good for. Absent: all."
    )
    scopes: Annotated[
        list[AccessScope],
        WithJsonSchema(_SCOPES),
        Field(
            min_length=1,
            max_length=len(ACCESS_SCOPES),
            description="`read` what is remembered, `write` as agents do, or `admin`: also what agents may not do.",
        ),
    ] = ["read", "write"]  # noqa: RUF012 - pydantic copies it
    speakers: Annotated[list[_Speaker] | None, Within(limits.SPEAKERS)] = optional(
        "The speakers that it may speak for. Absent: every speaker."
    )
    ttl_seconds: Annotated[
        Annotated[int, Number, Within(limits.CREDENTIAL_SECONDS)],
        Field(description="How long it holds. Only an operator's command mints one that does not expire."),
    ] = DEFAULT_SECONDS
    requests_per_minute: Annotated[int, Number, Within(limits.CREDENTIAL_REQUESTS)] | None = optional(
        "How many requests it may make in a minute, of each replica. Absent: as the settings say."
    )

    def wanted(self) -> CredentialWanted:
        """Return the credential that is wanted."""
        return CredentialWanted(
            self.agent_id, frozenset(self.scopes), self.speakers, self.ttl_seconds, self.requests_per_minute
        )


class CredentialAnswer(Answer):
    """What is known of a credential. The token itself is kept nowhere."""

    model_config = ConfigDict(json_schema_extra={"examples": [CREDENTIAL]})

    id: str = Field(description="Its claim `jti`, which is no secret.")
    agent_id: OptionalText = absent_if_none("The only agent that it is good for. Absent: all of the tenant's.")
    scopes: Annotated[list[str], WithJsonSchema(_SCOPES)]
    speakers: Annotated[list[str] | None, WithJsonSchema({"type": "array", "items": {"type": "string"}})] = (
        absent_if_none(
            "The speakers that it may speak for. Absent: every speaker. Empty: an erasure took the names away."
        )
    )
    requests_per_minute: Annotated[int | None, WithJsonSchema({"type": "integer"})] = absent_if_none(
        "Its own limit, of each replica. Absent: that of the settings."
    )
    channel: OptionalText = absent_if_none(
        "By what it was minted: `command`, `http` or `console`. Absent: it was recorded when it was first used."
    )
    minted_by: OptionalText = absent_if_none(
        "The credential that minted it. Absent: a command did, or it is not known."
    )
    minted_at: Timestamp
    expires_at: OptionalTimestamp = absent_if_none("Absent: it holds until it is revoked.")
    last_used_at: OptionalTimestamp = absent_if_none(
        "When it was last used; noted once an hour. Absent: not yet, as far as is known."
    )
    revoked_at: OptionalTimestamp = absent_if_none("Absent: it was not revoked.")


class CredentialsAnswer(Answer):
    """A page of credentials, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"credentials": [CREDENTIAL]}]})

    credentials: list[CredentialAnswer]
    cursor: OptionalText = next_cursor()


class MintedAnswer(Answer):
    """A new credential. Its token is shown this once."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"token": "eyJhbGciOiJIUzI1NiJ9.e30.c2ln", "credential": CREDENTIAL}]}
    )

    token: str = Field(description="Send it as `Authorization: Bearer <token>`. It is kept nowhere.")
    credential: CredentialAnswer


class RevokedAnswer(Answer):
    """A credential that holds no longer."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"id": examples.CREDENTIAL_ID, "revoked_at": examples.MOMENT, "recorded": True}]
        }
    )

    id: str
    revoked_at: Timestamp
    recorded: bool = Field(
        description="False: no credential with this id was minted here or used yet. It is revoked all the same."
    )
