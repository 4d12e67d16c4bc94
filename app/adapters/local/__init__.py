"""The embedded default: everything on this machine, without a key or a network."""
