"""OpenAI, and what speaks its wire."""
