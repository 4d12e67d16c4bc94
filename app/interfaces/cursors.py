"""Cursors of listings: opaque, signed, and valid for one listing only."""

import base64
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Protocol

from app.domain.errors import InvalidCursor
from app.runtime.entry import CallEntry
from app.storage.listing import ListPosition

HOLDS_MS = 24 * 3600 * 1000
"""How long a cursor is valid."""

_PURPOSE = "memory-gateway cursor of a listing, 1"


class Keys(Protocol):
    """An object that has keys: the credentials, and the entry of a call that was let in with one."""

    def keys(self, purpose: str) -> list[bytes]:
        """Return keys that are good for one purpose alone; the first key signs, all keys verify."""
        ...


class Cursors:
    """Writes and reads the cursors of one listing.

    A cursor does not contain the listing, only a signature over it: it does not reveal the tenant, and for another
    tenant, agent or filter its signature is wrong.
    """

    def __init__(self, keys: Keys, listing: Mapping[str, object]) -> None:
        """Derive the keys from the credentials' secrets, which replicas share and operators rotate.

        ``listing`` identifies the listing: its tenant and all its conditions, as JSON values and dataclasses of them.
        """
        self._keys = keys.keys(_PURPOSE)
        self._listing = json.dumps(listing, sort_keys=True, default=asdict)

    def write(self, place: ListPosition, *, now: int) -> str:
        """Return the cursor for a position."""
        payload = json.dumps([place.created_at, place.id, now]).encode()
        body = base64.urlsafe_b64encode(payload).decode().rstrip("=")
        return f"{body}.{self._sign(self._keys[0], body)}"

    def read(self, text: str, *, now: int) -> ListPosition:
        """Return the position that a cursor names.

        Raises:
            InvalidCursor: the cursor is forged, older than a day, or of another listing; the error does not say which.
        """
        body, _, signature = text.partition(".")
        given = signature.encode()
        if not any(hmac.compare_digest(self._sign(key, body).encode(), given) for key in self._keys):
            raise _invalid()
        created_at, id_, written = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        if now - written > HOLDS_MS:
            raise _invalid()
        return ListPosition(created_at, id_)

    def _sign(self, key: bytes, body: str) -> str:
        # The length comes first, so that no other listing and body give the same signed text.
        signed = f"{len(self._listing)}:{self._listing}{body}"
        return hmac.new(key, signed.encode(errors="surrogatepass"), "sha256").hexdigest()


class Listing:
    """A listing of which a request asks for one page."""

    def __init__(self, entry: CallEntry, what: str | None, cursor: str | None, **asked: object) -> None:
        """Read the request's cursor, where there is one.

        Args:
            entry: The request's entry: the listing is of its tenant.
            what: The listing's subject; None: long-term memory, whose cursors name no subject.
            cursor: The cursor of the page; None or empty: the page is the first.
            asked: All other conditions of the listing, as JSON values and dataclasses of them.

        Raises:
            InvalidCursor: the cursor is of another listing, or too old.
        """
        named = {} if what is None else {"what": what}
        self._cursors = Cursors(entry, {**asked, **named, "tenant_id": entry.principal.tenant_id})
        self._now = entry.now()
        self.after = self._cursors.read(cursor, now=self._now) if cursor else None
        """The position behind which the page begins; None: the page is the first."""

    def cursor(self, position: ListPosition | None) -> str | None:
        """Return the cursor of the next page, which begins behind a position; None where there is no next page."""
        return None if position is None else self._cursors.write(position, now=self._now)


def _invalid() -> InvalidCursor:
    return InvalidCursor("The cursor does not hold. Begin the listing anew.")
