"""The operations of the memory tiers, one module for each tier."""
