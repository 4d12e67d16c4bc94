"""Statements over one tenant's credentials: what each is good for, who minted it, and whether it was revoked."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain import limits
from app.domain.memory import Tenant
from app.ports.database import NOW, Row
from app.storage.declared import PagedTable, insert
from app.storage.listing import ListPosition
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement
from app.storage.undoing import REVOKED_AT

_MAKES_ROOM = 100
"""How many expired credentials leave the register where it is full."""

_OF_TENANT = "(SELECT count(*) FROM credential AS every WHERE every.tenant_id = ?1 ->> 'tenant_id')"
_MAKE_ROOM = f"""
DELETE FROM credential WHERE tenant_id = ?1 ->> 'tenant_id' AND {_OF_TENANT} >= {limits.MAX_CREDENTIALS} AND id IN (
  SELECT old.id FROM credential AS old INDEXED BY credential_ending
  WHERE old.tenant_id = ?1 ->> 'tenant_id' AND old.expires_at <= {NOW} ORDER BY old.expires_at LIMIT {_MAKES_ROOM}
)
"""
_RECORD = insert(
    "credential",
    "id agent_id scopes speakers requests_per_minute channel minted_by minted_at expires_at",
    f"""WHERE {_OF_TENANT} < {limits.MAX_CREDENTIALS}
ON CONFLICT (tenant_id, id) DO UPDATE SET channel = excluded.channel, minted_by = excluded.minted_by RETURNING id""",
)
_REVOKED_AT = """(
  SELECT min(revoked.revoked_at) FROM revocation AS revoked
  WHERE revoked.tenant_id = credential.tenant_id AND (
    revoked.credential_id = credential.id
    OR revoked.credential_id = '' AND revoked.issued_before > credential.minted_at
  )
)"""
_REVOKE = insert(
    "revocation",
    "credential_id",
    """WHERE (SELECT count(*) FROM revocation AS kept WHERE kept.tenant_id = ?1 ->> 'tenant_id') < ?1 ->> 'most'
ON CONFLICT (tenant_id, credential_id) DO NOTHING""",
    issued_before="NULL",
    revoked_at=REVOKED_AT,
)
_REVOKE_ALL = insert(
    "revocation",
    "issued_before",
    """WHERE TRUE ON CONFLICT (tenant_id, credential_id) DO UPDATE SET
  issued_before = max(issued_before, excluded.issued_before), revoked_at = excluded.revoked_at""",
    credential_id="''",
    revoked_at=REVOKED_AT,
)
_IS_REVOKED = """
SELECT (
    SELECT revoked.revoked_at FROM revocation AS revoked
    WHERE revoked.tenant_id = ?1 ->> 'tenant_id' AND revoked.credential_id = ?1 ->> 'credential_id'
  ) AS revoked_at,
  EXISTS (
    SELECT 1 FROM credential WHERE credential.tenant_id = ?1 ->> 'tenant_id' AND credential.id = ?1 ->> 'credential_id'
  ) AS recorded
"""
_PAGES = PagedTable(
    table="credential",
    columns=(
        "credential.id, credential.agent_id, credential.scopes, credential.speakers, credential.requests_per_minute,"
        " credential.channel, credential.minted_by, credential.minted_at, credential.expires_at,"
        f" credential.last_used_at, {_REVOKED_AT} AS revoked_at"
    ),
    at="credential.minted_at",
    tie="credential.id",
    indexes={("minted_by",): "credential_of_minter", ("agent_id",): "credential_of_agent", (): "credential_newest"},
)


@dataclass(frozen=True, slots=True)
class ListedCredential:
    """What is known of a credential. The token itself is kept nowhere."""

    id: str
    agent_id: str | None
    """The only agent that it is good for; None: all of the tenant's."""
    scopes: Sequence[str]
    speakers: Sequence[str] | None
    """The speakers that it may speak for; None: every speaker. It is empty where an erasure took the names away."""
    requests_per_minute: int | None
    """Its own limit; None: that of the settings."""
    channel: str | None
    """By what it was minted; None: it was recorded when it was first used."""
    minted_by: str | None
    """The credential that minted it; None: an operator's command did, or it is not known."""
    minted_at: int
    expires_at: int | None
    """None: it holds until it is revoked."""
    last_used_at: int | None = None
    """When it was last used, which is noted once an hour; None: not known to have been used."""
    revoked_at: int | None = None


@dataclass(frozen=True, slots=True)
class CredentialFilter:
    """Which credentials are listed; what is None sets no condition."""

    agent_id: str | None = None
    minted_by: str | None = None


@dataclass(frozen=True, slots=True)
class Revoked:
    """What came of a revocation: when the credential counts as revoked, and whether it was known before."""

    revoked_at: int | None
    """Milliseconds since the epoch; None: it was not revoked, since the tenant has revoked too many."""
    recorded: bool
    """Whether the register has a credential of this id."""


@dataclass(frozen=True, slots=True)
class CredentialRegister:
    """Statements over the credentials of one tenant."""

    tenant_id: str

    def page(self, where: CredentialFilter, *, limit: int, after: ListPosition | None) -> ScopedStatement:
        """Read the next credentials that pass a filter, newest first, for ``list_page``."""
        return _PAGES.read(Tenant(self.tenant_id), where, limit=limit, after=after)

    def record(self, credential: ListedCredential) -> list[ScopedStatement]:
        """Record a credential; the last statement returns no row where the tenant has as many as it may.

        Where there is no room, credentials that have expired make some.
        """
        tenant = Tenant(self.tenant_id)
        return [
            ScopedStatement.write(tenant, _MAKE_ROOM, repeatable=True),
            ScopedStatement.write(
                tenant,
                _RECORD,
                id=credential.id,
                agent_id=credential.agent_id,
                scopes=list(credential.scopes),
                speakers=None if credential.speakers is None else list(credential.speakers),
                requests_per_minute=credential.requests_per_minute,
                channel=credential.channel,
                minted_by=credential.minted_by,
                minted_at=credential.minted_at,
                expires_at=credential.expires_at,
            ),
        ]

    def revoke(self, credential_id: str, *, most: int) -> list[ScopedStatement]:
        """Revoke a credential, where fewer than ``most`` are revoked; ``read_revoked`` reads the last rows."""
        tenant = Tenant(self.tenant_id)
        return [
            ScopedStatement.write(tenant, _REVOKE, repeatable=True, credential_id=credential_id, most=most),
            ScopedStatement.read(tenant, _IS_REVOKED, credential_id=credential_id),
        ]

    def revoke_all(self, issued_before: int) -> ScopedStatement:
        """Revoke the credentials of the tenant that were issued before a moment (ms since the epoch)."""
        return ScopedStatement.write(Tenant(self.tenant_id), _REVOKE_ALL, repeatable=True, issued_before=issued_before)


def read_revoked(rows: Sequence[Row]) -> Revoked:
    """Read what came of a revocation."""
    return read_row(Revoked, rows[0])
