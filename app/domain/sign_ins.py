"""The ids that the console gives to its sessions and to its sign-in links; those that have ended are kept for a day."""

from typing import Final

from app.domain.moments import DAY_MS

PREFIX: Final = "console:"
"""Begins each such id, and the id of no credential."""
KEPT_MS: Final = DAY_MS
"""How long it is kept that an id has ended: longer than any session or link holds."""
MAX_ENDED: Final = 2_000
"""Sessions and links of a tenant that end within a day."""
