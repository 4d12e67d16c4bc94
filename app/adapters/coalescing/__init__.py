"""Adapters that wrap another adapter: concurrent requests become one call of it (ADR 0039)."""
