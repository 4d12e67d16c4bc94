"""Memories of others beside this one: ``make bench-rivals``."""
