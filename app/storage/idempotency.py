"""How long an Idempotency-Key is kept."""

KEPT_MS = 24 * 3600 * 1000
"""A used key keeps a further store with it out for this long (schema.sql)."""
