"""Cursors of listings: opaque, signed, and valid for one listing only."""

import base64
import hmac
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from app.domain.audit import AuditFilter
from app.domain.episodes import EpisodesWanted, RunsWanted
from app.domain.errors import InvalidCursor
from app.domain.query import Filter
from app.services.access.credentials import Credentials
from app.storage.listing import ListPosition

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

HOLDS_MS = 24 * 3600 * 1000
"""How long a cursor is valid."""

_PURPOSE = "memory-gateway cursor of a listing, 1"


@dataclass(frozen=True, slots=True)
class NamespaceListing:
    """Identifies a listing of namespaces."""

    tenant_id: str
    order: str
    direction: str
    what: str = "namespaces"


@dataclass(frozen=True, slots=True)
class ProfileListing:
    """Identifies a listing of what one agent remembers."""

    tenant_id: str
    agent_id: str
    session_id: str | None
    type: str | None
    what: str = "profile"


@dataclass(frozen=True, slots=True)
class RunListing:
    """Identifies a listing of runs."""

    tenant_id: str
    wanted: RunsWanted
    what: str = "runs"


@dataclass(frozen=True, slots=True)
class EpisodeListing:
    """Identifies a listing of episodes."""

    tenant_id: str
    wanted: EpisodesWanted
    what: str = "episodes"


@dataclass(frozen=True, slots=True)
class BlobListing:
    """Identifies a listing of the blobs of an agent or, where it is None, of those of the tenant as a whole."""

    tenant_id: str
    agent_id: str | None
    what: str = "blobs"


@dataclass(frozen=True, slots=True)
class WorkflowListing:
    """Identifies a listing of workflows; None is of every type."""

    tenant_id: str
    agent_type: str | None
    task_type: str | None
    what: str = "workflows"


@dataclass(frozen=True, slots=True)
class ReplayListing:
    """Identifies the replay of a run. ``only_agent`` None: what it tells is of any agent."""

    tenant_id: str
    run_id: str
    only_agent: str | None
    what: str = "replay"


@dataclass(frozen=True, slots=True)
class AuditListing:
    """Identifies a listing of events."""

    tenant_id: str
    where: AuditFilter
    what: str = "audit"


@dataclass(frozen=True, slots=True)
class FactListing:
    """Identifies a listing of one agent's facts."""

    tenant_id: str
    agent_id: str
    subject: str | None
    predicate: str | None
    learned_from_run_id: str | None
    history: bool
    what: str = "facts"


@dataclass(frozen=True, slots=True)
class ListingScope:
    """Identifies a listing: its cursors are refused for any other. ``agent_id`` None: all of the tenant's agents."""

    tenant_id: str
    agent_id: str | None
    where: Filter
    written_by: str | None = None


class Cursors:
    """Writes and reads the cursors of one listing.

    A cursor does not contain the listing, only a signature over it: it does not reveal the tenant, and for another
    tenant, agent or filter its signature is wrong.
    """

    def __init__(self, credentials: Credentials, listing: "DataclassInstance") -> None:
        """Derive the keys from the credentials' secrets, which replicas share and operators rotate.

        ``listing`` says of which listing they are: its tenant, and all that it was asked for.
        """
        self._keys = credentials.keys(_PURPOSE)
        self._listing = json.dumps(asdict(listing), sort_keys=True)

    def write(self, place: ListPosition, *, now: int) -> str:
        """Return the cursor for a place."""
        payload = json.dumps([place.created_at, place.id, now]).encode()
        body = base64.urlsafe_b64encode(payload).decode().rstrip("=")
        return f"{body}.{self._sign(self._keys[0], body)}"

    def read(self, text: str, *, now: int) -> ListPosition:
        """Return the place that a cursor names.

        Raises:
            InvalidCursor: it is forged, older than a day, or of another listing; the error does not say which.
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


def _invalid() -> InvalidCursor:
    return InvalidCursor("The cursor does not hold. Begin the listing anew.")
