"""Fits what counts in a score (``app/retrieval/weights.toml``) to labelled questions."""
