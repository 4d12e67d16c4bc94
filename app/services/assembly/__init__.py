"""Assembles an agent's context: what each tier has for it, under one budget of tokens (docs/tiers.md)."""
