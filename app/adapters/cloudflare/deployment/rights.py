"""Finds out whether an API token has the permissions that a deployment needs, before anything is made.

A token tells its permissions to nobody but those who may read tokens, which few tokens may. What each product answers
to a look tells whether the token may read it. To tell whether it may write, a request without a name is sent, which a
product refuses as malformed and makes nothing of: a token without the right is refused with 401 or 403 in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.responses import Refusal
from app.adapters.upstream import Call
from app.domain.errors import ConfigurationError, Forbidden, MemoryGatewayError, UpstreamRejected

_REFUSED = {401, 403}
_R2_NOT_ENABLED = 10042
"""Answered with 403 to every token, where an account has not enabled R2."""
_NOTHING = b"{}"
_BEYOND_ACCOUNT = "/../.."
"""From an account's path to the API's own: a URL's dot segments are resolved before it is sent."""


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission of an API token, by its name in the dashboard, and what the deployment needs it for."""

    name: str
    purpose: str
    look: Call
    malformed: Call

    def __str__(self) -> str:
        """Return the permission as a token's form has it."""
        return f"{self.name}: Edit ({self.purpose})"


def needed(worker: str | None, *, blobs: bool) -> list[Permission]:
    """Return the permissions that a deployment needs, with a Worker of this name, and with a bucket for ``blobs``."""
    databases, indexes, buckets, scripts = "/d1/database", "/vectorize/v2/indexes", "/r2/buckets", "/workers/scripts"
    permissions = [
        Permission(
            "D1",
            "the database",
            Call("d1.list", "GET", databases, query={"per_page": "10"}),
            Call("d1.create", "POST", databases, _NOTHING),
        ),
        Permission(
            "Vectorize",
            "the index",
            Call("vectorize.list_indexes", "GET", indexes),
            Call("vectorize.create", "POST", indexes, _NOTHING),
        ),
    ]
    if blobs:
        look, malformed = Call("r2.list", "GET", buckets), Call("r2.create", "POST", buckets, _NOTHING)
        permissions.append(Permission("Workers R2 Storage", "the bucket of the blobs", look, malformed))
    if worker is not None:
        malformed = Call("workers.secret", "PUT", f"{scripts}/{worker}/secrets", _NOTHING)
        permissions.append(
            Permission("Workers Scripts", "the edge Worker", Call("workers.list", "GET", scripts), malformed)
        )
    return permissions


async def token_id(client: CloudflareClient) -> str:
    """Return the id of the API token, of the account or of a user.

    Raises:
        ConfigurationError: the token does not hold.
    """
    for path in ("/tokens/verify", f"{_BEYOND_ACCOUNT}/user/tokens/verify"):
        try:
            result = (await client.call(Call("tokens.verify", "GET", path), _forbidden)).result
        except (Forbidden, UpstreamRejected):
            continue
        if isinstance(result, dict) and result.get("status") == "active" and result.get("id"):
            return str(result["id"])
    raise ConfigurationError(
        "CLOUDFLARE_API_TOKEN does not hold: it is unknown, expired or disabled. Make one as deploy/README.md says."
    )


async def check_reading(client: CloudflareClient, permissions: Sequence[Permission]) -> None:
    """Return if the token may look at each product; raise ``ConfigurationError`` with all that it lacks if not."""
    await _check(client, [(permission, permission.look) for permission in permissions])


async def check_writing(client: CloudflareClient, permissions: Sequence[Permission]) -> None:
    """Return if the token may change each product; raise ``ConfigurationError`` with all that it lacks if not.

    Each look is a malformed request, which changes nothing.
    """
    await _check(client, [(permission, permission.malformed) for permission in permissions])


async def _check(client: CloudflareClient, looks: Sequence[tuple[Permission, Call]]) -> None:
    lacking = [permission for permission, call in looks if not await _is_allowed(client, call)]
    if lacking:
        raise ConfigurationError(
            f"CLOUDFLARE_API_TOKEN lacks permissions of this account: {'; '.join(map(str, lacking))}. Nothing was "
            "changed. Add them to the token, or make another one."
        )


async def _is_allowed(client: CloudflareClient, call: Call) -> bool:
    try:
        await client.call(call, _forbidden)
    except Forbidden:
        return False
    except UpstreamRejected:  # malformed, and not forbidden
        return True
    return True


def _forbidden(refusal: Refusal) -> MemoryGatewayError | None:
    """Map a refusal of the token, without a line in the log: that it may be refused is what is asked."""
    if refusal.code == _R2_NOT_ENABLED:
        return UpstreamRejected("The account has not enabled R2.")
    return Forbidden(refusal.message) if refusal.status in _REFUSED else None
