"""The domain: memories, embeddings, errors, limits and words. It imports nothing else of the application."""
