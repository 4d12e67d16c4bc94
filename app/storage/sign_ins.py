"""Statements that end sessions of the console and use up its sign-in links: rows of ``revocation``, kept for a day."""

from app.domain import sign_ins
from app.domain.memory import Tenant
from app.ports.database import NOW
from app.storage.scoped import ScopedStatement
from app.storage.undoing import REVOKED_AT

_OWN = f"tenant_id = ?1 ->> 'tenant_id' AND credential_id GLOB '{sign_ins.PREFIX}*'"
_OF_CREDENTIAL = """tenant_id = ?1 ->> 'tenant_id'
    AND credential_id > ?1 ->> 'of_credential' AND credential_id < (?1 ->> 'of_credential') || '~'"""
_DROP_OLD = f"DELETE FROM revocation WHERE {_OWN} AND revoked_at < {NOW} - {sign_ins.KEPT_MS}"
_END = f"""
INSERT INTO revocation (tenant_id, credential_id, issued_before, revoked_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'id', NULL, {REVOKED_AT}
WHERE (SELECT count(*) FROM revocation WHERE {_OWN}) < {sign_ins.MAX_ENDED}
  AND (SELECT count(*) FROM revocation WHERE {_OF_CREDENTIAL}) < {sign_ins.MAX_ENDED_OF_CREDENTIAL}
ON CONFLICT (tenant_id, credential_id) DO NOTHING RETURNING credential_id
"""
_READ = f"""
SELECT EXISTS (
  SELECT 1 FROM revocation WHERE tenant_id = ?1 ->> 'tenant_id' AND credential_id = ?1 ->> 'id'
) AS ended, (SELECT count(*) FROM revocation WHERE {_OWN}) AS kept,
  (SELECT count(*) FROM revocation WHERE {_OF_CREDENTIAL}) AS kept_of_credential
"""


def end(tenant: Tenant, id_: str) -> list[ScopedStatement]:
    """Make the run that ends an id, once.

    The second statement returns a row where this run has ended the id, the third whether the id has ``ended`` now, and
    how many ended ids of the tenant, and of the same credential, are ``kept``.
    """
    of_credential = sign_ins.of_credential(id_)
    return [
        ScopedStatement.write(tenant, _DROP_OLD),
        ScopedStatement.write(tenant, _END, id=id_, of_credential=of_credential),
        ScopedStatement.read(tenant, _READ, id=id_, of_credential=of_credential),
    ]
