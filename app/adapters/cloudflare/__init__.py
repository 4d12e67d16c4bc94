"""Cloudflare over REST: D1, Vectorize and Workers AI, through one client and one meter."""
