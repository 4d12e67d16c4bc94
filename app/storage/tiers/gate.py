"""The first statement of every run that writes to a tier: it stops the run where nothing may be written."""

from app.domain.author import Author
from app.domain.memory import Scope, Tenant
from app.storage.scoped import ScopedStatement

_ENTER = """
INSERT INTO tier_write (tenant_id, agent_id, written_by, issued_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'by', ?1 ->> 'issued_at'
"""


def gate(scope: Scope | Tenant, author: Author) -> ScopedStatement:
    """Refuse the run while its scope is being erased, and where the author's credential was revoked.

    The run raises ``RunRefused`` with the reason ``erasing`` or ``revoked`` (``0018_tiers.sql``).
    """
    return ScopedStatement.write(scope, _ENTER, by=author.credential_id, issued_at=author.issued_at)
