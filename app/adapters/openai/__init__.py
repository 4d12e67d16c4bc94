"""Adapter for OpenAI and for services with the same API."""
