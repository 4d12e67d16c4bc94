"""The statements of the memory tiers (docs/tiers.md), one module for each tier."""
