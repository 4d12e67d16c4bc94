"""Trains the model that reads what is said (docs/reader.md)."""
