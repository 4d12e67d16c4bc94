"""Measures what recalls find of published sets of conversations and questions: ``memory-gateway eval``."""
