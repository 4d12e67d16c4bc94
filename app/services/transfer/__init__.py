"""Memories that come from elsewhere or go there: our own format, and those of other memory systems."""
