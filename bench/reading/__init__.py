"""Measures what the service understands of language, over HTTP, on data that nothing was fitted to (docs/reader.md)."""
