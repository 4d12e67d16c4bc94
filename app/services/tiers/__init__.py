"""The memory tiers (docs/tiers.md), one module for each: no tier calls another."""
