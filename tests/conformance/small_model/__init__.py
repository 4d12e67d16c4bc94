"""A small language model that was not written here, on loopback, and what the service believes of what it says."""
