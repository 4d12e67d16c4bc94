"""Snapshots of one tenant: written to the object store, listed, verified, restored and deleted."""
