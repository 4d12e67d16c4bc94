"""Cursors of listings: opaque, signed, and good for nothing but going on with the same listing."""

import base64
import hmac
import json
from dataclasses import asdict, dataclass

from app.domain.errors import InvalidCursor
from app.domain.query import Filter
from app.services.credentials import Credentials
from app.storage.listing import Place

HOLDS_MS = 24 * 3600 * 1000
"""How long a cursor is good for."""

_PURPOSE = "memory-gateway cursor of a listing, 1"


@dataclass(frozen=True, slots=True)
class ListingScope:
    """What is listed: a cursor of one listing is none of another. ``agent_id`` None: all of the tenant's agents."""

    tenant_id: str
    agent_id: str | None
    where: Filter


class Cursors:
    """Writes and reads the cursors of one listing.

    The listing itself is not in a cursor, only under its signature: whose it is cannot be read from it, and one of
    another tenant, agent or filter is simply not signed.
    """

    def __init__(self, credentials: Credentials, listing: ListingScope) -> None:
        """Sign with the credentials' secrets, so that replicas share them and they are rotated together."""
        self._keys = credentials.keys(_PURPOSE)
        self._listing = json.dumps(asdict(listing), sort_keys=True)

    def write(self, place: Place, *, now: int) -> str:
        """Write where to go on."""
        told = json.dumps([place.created_at, place.id, now]).encode()
        body = base64.urlsafe_b64encode(told).decode().rstrip("=")
        return f"{body}.{self._sign(self._keys[0], body)}"

    def read(self, text: str, *, now: int) -> Place:
        """Read where to go on.

        Raises:
            InvalidCursor: it is forged, older than a day, or of another listing; which of them is not said.
        """
        body, _, signature = text.partition(".")
        given = signature.encode()
        if not any(hmac.compare_digest(self._sign(key, body).encode(), given) for key in self._keys):
            raise _invalid()
        created_at, id_, written = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        if now - written > HOLDS_MS:
            raise _invalid()
        return Place(created_at, id_)

    def _sign(self, key: bytes, body: str) -> str:
        # What is signed begins with its length, so that no listing and body can be mistaken for others.
        signed = f"{len(self._listing)}:{self._listing}{body}"
        return hmac.new(key, signed.encode(errors="surrogatepass"), "sha256").hexdigest()


def _invalid() -> InvalidCursor:
    return InvalidCursor("The cursor does not hold. Begin the listing anew.")
