"""Assembles an agent's context: pieces of every tier, under one budget of tokens (docs/tiers.md)."""
