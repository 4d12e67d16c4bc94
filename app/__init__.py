"""Memory Gateway: long-term memory for AI agents, each tenant strictly apart."""
