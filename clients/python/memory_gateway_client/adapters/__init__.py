"""Adapters that bring the memory into agent frameworks: a folder each, none of which another needs."""
