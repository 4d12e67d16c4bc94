"""Writes when credentials were last used, while the service runs and when it ends."""

from dataclasses import asdict

import structlog

from app.domain.errors import DatabaseRejected
from app.domain.json_types import Json
from app.runtime.backends import Backends
from app.services.access.revocations import CredentialUse
from app.services.credentials.registry import listed
from app.storage.system import credentials

WRITE_SECONDS = 30.0
"""The pause between two writings."""
_BATCH = 500
"""Uses that are written in one run of the database."""


async def write_uses(backends: Backends) -> None:
    """Write the uses of credentials since the last time. No call of the database is made where there are none.

    Raises:
        Unavailable: the database does not answer; the uses are written the next time.
    """
    now = backends.clock()
    while uses := backends.credential_uses.take(_BATCH):
        try:
            await backends.database.run([credentials.note_uses([_row(use, now) for use in uses])])
        except DatabaseRejected as error:  # the same uses would be refused again, and keep out all later ones
            structlog.get_logger().error("credential_uses_refused", rows=len(uses), reason=error.detail)
        except BaseException:
            backends.credential_uses.restore(uses)
            raise


def _row(use: CredentialUse, now: int) -> Json:
    credential = asdict(listed(use.principal, channel=None, minted_by=None))
    return {**credential, "tenant_id": use.principal.tenant_id, "ago": max(0, now - use.at)}
