"""The memory tiers (docs/tiers.md), one module for each tier: no tier calls another."""
