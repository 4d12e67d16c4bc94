"""The archive of one tenant: what is old is moved into the object store, listed, read and restored."""
