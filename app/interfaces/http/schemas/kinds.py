"""The fields of answers that count the rows of the tiers, one for each kind."""

from typing import Any

from pydantic import Field

from app.storage.tiers.tables import TIER_TABLES


def row_counts(more: str = "") -> dict[str, Any]:
    """Return a field for each counted kind of row; ``more`` is said of each of them."""
    return {
        tier.kind: (int, Field(0, description=f"{tier.kind.replace('_', ' ').capitalize()}.{more}"))
        for tier in TIER_TABLES
        if tier.counted
    }
