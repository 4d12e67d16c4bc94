"""The memory tiers. Each module owns one tier's tables; no tier reads another's."""
