"""An agent's memory by its name: as the constrained API and Cloudflare's Agent Memory show it."""
