"""Ways in: HTTP, MCP, the command line and the tools. Each parses a request, makes one call and writes the answer."""
