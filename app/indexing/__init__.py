"""Keeps the vector index up to date with the database: delivery, the indexer and its jobs."""
