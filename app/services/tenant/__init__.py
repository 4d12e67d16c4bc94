"""The backends of one tenant's services: its database, index, models, caches and notes."""
