"""Measures what the reader costs, as ratios to the same without it (docs/reader.md)."""
