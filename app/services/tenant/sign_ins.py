"""Ends sessions of the console and uses up its sign-in links, in all processes; for one tenant, bound here."""

from app.domain.errors import QuotaExceeded
from app.domain.memory import Tenant
from app.domain.sign_ins import MAX_ENDED, MAX_ENDED_OF_CREDENTIAL
from app.services.tenant.backends import TenantBackends
from app.storage import request_state
from app.storage.sign_ins import end


class SignIns:
    """Ends the ids of sessions and links. Whoever asks from then on is refused as with a revoked credential."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends
        self._tenant = Tenant(backends.tenant_id)

    async def end(self, id_: str) -> bool:
        """End an id; return whether this call has ended it, and no call before.

        Raises:
            QuotaExceeded: too many sessions and links of its credential, or of the tenant, have ended today; this one
                has not.
            Unavailable: the database does not answer; the id may have ended.
        """
        statements = [*end(self._tenant, id_), request_state.read(self._tenant)]
        _, own, (known,), (state,) = await self._backends.data.database.run(statements)
        self._backends.data.observe(state)
        if not known["ended"]:
            used, most, scope = int(known["kept_of_credential"] or 0), MAX_ENDED_OF_CREDENTIAL, "credential"
            if used < most:
                used, most, scope = int(known["kept"] or 0), MAX_ENDED, "tenant"
            raise QuotaExceeded(
                f"{most} sessions and sign-in links of the {scope} have ended within a day, and no more may.",
                reached=f"sign_ins;scope={scope};used={used};limit={most}",
            )
        return bool(own)
