"""Adapters for D1, Vectorize and Workers AI over REST, with one client and one call budget."""
