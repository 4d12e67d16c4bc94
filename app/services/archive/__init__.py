"""The archive of one tenant: old items are moved into the object store, listed, read and restored."""
