"""Reads which tenants have golden questions. It crosses tenants; no request imports it."""

from collections.abc import Iterable

from app.ports.database import Row, Statement

TENANTS = Statement.read("SELECT DISTINCT golden.tenant_id FROM golden_question AS golden ORDER BY golden.tenant_id")


def read_tenants(rows: Iterable[Row]) -> list[str]:
    """Read the rows of ``TENANTS``."""
    return [str(row["tenant_id"]) for row in rows]
