"""The register of a tenant's credentials: lists, mints and revokes them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from app.domain import limits
from app.domain.errors import Forbidden, QuotaExceeded
from app.services.access.credentials import Principal
from app.services.access.scopes import ACCESS_SCOPES, CredentialWanted, granted
from app.services.tenant.backends import TenantBackends
from app.storage.credentials import CredentialFilter, CredentialRegister, ListedCredential, Revoked, read_revoked
from app.storage.declared import ListPage, list_page
from app.storage.listing import ListPosition


@dataclass(frozen=True, slots=True)
class MintedCredential:
    """A new credential. The token is kept nowhere: who asked for it is the only one that has it."""

    token: str
    credential: ListedCredential


class CredentialRegistry:
    """Lists, mints and revokes the credentials of one tenant, which is bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends
        self._register = CredentialRegister(backends.tenant_id)

    async def list(
        self, where: CredentialFilter, *, limit: int, after: ListPosition | None = None
    ) -> ListPage[ListedCredential]:
        """Return the next credentials that pass the filter, newest first.

        One that was minted without this database is among them from half a minute after its first use on.

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        limits.check(
            ("agent_id", limits.AGENT_ID, where.agent_id),
            ("minted_by", limits.CREDENTIAL_ID, where.minted_by),
            ("limit", limits.LIST_LIMIT, limit),
        )
        page = self._register.page(where, limit=limit + 1, after=after)
        (rows,) = await self._backends.data.database.run([page])
        return list_page(ListedCredential, rows, limit)

    async def mint(self, by: Principal, wanted: CredentialWanted) -> MintedCredential:
        """Mint a credential that reaches no further than the principal that asks for it, and record it.

        Raises:
            Forbidden: it would reach further: have a scope, an agent, a speaker or a rate that the principal has not.
            QuotaExceeded: the tenant has minted too many in this minute, or has as many as are recorded; none was made.
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer; nobody has the credential, whether it was recorded or not.
        """
        wanted = _within(by, wanted, self._backends.admission.credential_requests)
        limits.check(
            ("agent_id", limits.AGENT_ID, wanted.agent_id),
            ("speakers", limits.SPEAKERS, wanted.speakers),
            ("seconds", limits.CREDENTIAL_SECONDS, wanted.seconds),
            ("requests_per_minute", limits.CREDENTIAL_REQUESTS, wanted.requests_per_minute),
        )
        backends, author = self._backends, self._backends.author
        now = backends.clock()
        backends.admission.credential_change(now)
        token, principal = backends.access.mint(wanted, now)
        credential = listed(principal, channel=author.channel, minted_by=author.credential_id)
        *_, recorded = await backends.data.database.run(self._register.record(credential))
        if not recorded:
            most = limits.MAX_CREDENTIALS
            raise QuotaExceeded(
                f"The tenant has {most} credentials that have not expired. None was minted; delete those that are not "
                "used any more, and let new ones expire sooner.",
                reached=f"credentials;scope=tenant;used={most};limit={most}",
            )
        structlog.get_logger().info("credential_minted", minted=credential.id, scopes=list(credential.scopes))
        return MintedCredential(token, credential)

    async def revoke(self, credential_id: str) -> Revoked:
        """Revoke a credential, whether the register has it or not. Within 30 seconds every replica refuses it.

        Raises:
            QuotaExceeded: the tenant has revoked too many in this minute, or at all; an operator's command does it.
            InvalidRequest: the id is malformed.
            Unavailable: the database does not answer; calling again is safe.
        """
        limits.check(("credential_id", limits.CREDENTIAL_ID, credential_id))
        by_command = self._backends.author.channel == "command"
        most = limits.MAX_NUMBER if by_command else limits.MAX_REVOCATIONS
        if not by_command:
            self._backends.admission.credential_change(self._backends.clock())
        *_, rows = await self._backends.data.database.run(self._register.revoke(credential_id, most=most))
        revoked = read_revoked(rows)
        if revoked.revoked_at is None:
            raise QuotaExceeded(
                f"The tenant has revoked {most} credentials. This one was not revoked; an operator's command does it: "
                "memory-gateway token revoke.",
                reached=f"revocations;scope=tenant;used={most};limit={most}",
            )
        self._backends.access.revoked(revoked.revoked_at)
        structlog.get_logger().info("credential_revoked", revoked=credential_id)
        return revoked

    async def revoke_issued_before(self, moment: int) -> None:
        """Revoke every credential of the tenant that was issued before a moment, in milliseconds since the epoch.

        Raises:
            Unavailable: the database does not answer; calling again is safe.
        """
        await self._backends.data.database.run([self._register.revoke_all(moment)])
        structlog.get_logger().info("credentials_revoked", issued_before=moment)

    async def record(self, principal: Principal) -> bool:
        """Record a credential that an operator's command has just minted; return whether there was room for it.

        Raises:
            Unavailable: the database does not answer.
        """
        credential = listed(principal, channel=self._backends.author.channel, minted_by=None)
        *_, recorded = await self._backends.data.database.run(self._register.record(credential))
        return bool(recorded)


def _within(by: Principal, wanted: CredentialWanted, usual: int | None) -> CredentialWanted:
    """Return what is wanted, with the limits of the principal where none are named.

    ``usual`` is the rate of the settings: it is not named in a credential unless the principal's own is lower.

    Raises:
        Forbidden: it would reach further than the principal.
    """
    given = granted(wanted.scopes)
    by.check_scopes([scope for scope in ACCESS_SCOPES if scope in given])
    if wanted.agent_id is None:
        by.check_every_agent()
    else:
        by.check_agent(wanted.agent_id)
    return replace(
        wanted, speakers=_speakers_within(by, wanted.speakers), requests_per_minute=_rate_within(by, wanted, usual)
    )


def _speakers_within(by: Principal, wanted: Sequence[str] | None) -> Sequence[str] | None:
    if by.speakers is None:
        return wanted
    speakers = sorted(by.speakers) if wanted is None else wanted
    if not {speaker.strip().lower() for speaker in speakers} <= by.speakers:
        raise Forbidden.of_field("speakers", "names a speaker that the credential may not speak for")
    return speakers


def _rate_within(by: Principal, wanted: CredentialWanted, usual: int | None) -> int | None:
    rate, own = wanted.requests_per_minute, by.requests_per_minute
    most = usual if own is None else own
    if rate is not None and most is not None and rate > most:
        raise Forbidden.of_field("requests_per_minute", f"is more than the credential's own, {most}")
    is_lower = own is not None and (usual is None or own < usual)
    return own if rate is None and is_lower else rate


def listed(principal: Principal, *, channel: str | None, minted_by: str | None) -> ListedCredential:
    """Return what the register has of a credential that nobody has used yet."""
    return ListedCredential(
        principal.credential_id or "",
        principal.agent_id,
        [scope for scope in ACCESS_SCOPES if scope in principal.scopes],
        None if principal.speakers is None else sorted(principal.speakers),
        principal.requests_per_minute,
        channel,
        minted_by,
        principal.issued_at or 0,
        principal.expires_at,
    )
