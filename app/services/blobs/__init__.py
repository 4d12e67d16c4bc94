"""Blobs of one tenant: bytes in the object store, and values that are too large for a row."""
