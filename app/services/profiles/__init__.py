"""Profiles: the memory of one agent as the constrained API and Cloudflare's Agent Memory show it."""
