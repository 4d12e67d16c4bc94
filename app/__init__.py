"""Memory Gateway: long-term memory for AI agents, on Cloudflare or on one machine."""
