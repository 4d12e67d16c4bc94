"""How long an Idempotency-Key is kept."""

KEPT_MS = 24 * 3600 * 1000
"""For so long a used key keeps a store out (schema.sql)."""
