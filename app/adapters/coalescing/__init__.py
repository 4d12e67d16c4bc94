"""Adapters that wrap another: what is asked of it at the same time becomes one call of it (ADR 0039)."""
