"""Operations about credentials, for an administrator of all agents. They may raise what those of ``calls`` raise."""

from collections.abc import Sequence

from memory_gateway_client.request import Call, given, segment
from memory_gateway_client.tiers import access_types as types


def credentials(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    minted_by: str | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Call[types.Credentials]:
    """List the tenant's credentials, newest first; no token is among them.

    Args:
        agent_id: Only those that are for this agent alone; absent, all, whatever the client's agent is.
        minted_by: Only those that this credential has minted.
        limit: How many at most, 1 to 100.
        cursor: That of the page before.

    Raises:
        InvalidCursor: the cursor is of other parameters, or too old.
        Unavailable: there is no answer.
    """
    query = given(agent_id=agent_id, minted_by=minted_by, limit=str(limit), cursor=cursor)
    return Call("GET", "/credentials", types.Credentials, query=query)


def mint_credential(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    scopes: Sequence[str] = ("read", "write"),
    speakers: Sequence[str] | None = None,
    ttl_seconds: int | None = None,
    requests_per_minute: int | None = None,
) -> Call[types.Minted]:
    """Mint a credential that reaches no further than the client's own; the answer alone has its token.

    Args:
        agent_id: The only agent that it is good for; absent, all of the tenant's, whatever the client's agent is.
        scopes: Of ``read``, ``write`` and ``admin``.
        speakers: The speakers that it may speak for; absent, every speaker.
        ttl_seconds: How long it holds; absent, 90 days.
        requests_per_minute: How many requests it may make in a minute; absent, as many as the settings say.

    Raises:
        Forbidden: it would reach further than the client's credential.
        QuotaExceeded: there are too many, or too many were minted in this minute.
        Unavailable: none is minted, or nobody has its token.
    """
    body = given(
        agent_id=agent_id,
        scopes=list(scopes),
        speakers=None if speakers is None else list(speakers),
        ttl_seconds=ttl_seconds,
        requests_per_minute=requests_per_minute,
    )
    return Call("POST", "/credentials", types.Minted, status=201, body=body)


def revoke_credential(_own: str | None, /, credential_id: str) -> Call[types.Revoked]:
    """Revoke a credential: within 30 seconds nothing takes it any more. What it has written stays.

    Args:
        credential_id: Its claim ``jti``.

    Raises:
        QuotaExceeded: too many were revoked.
        Unavailable: it may be revoked; calling again is safe.
    """
    return Call("DELETE", f"/credentials/{segment(credential_id)}", types.Revoked)
