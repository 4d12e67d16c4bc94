"""Adapters of the embedded default: everything runs on this machine, without a key or a network."""
