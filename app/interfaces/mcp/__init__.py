"""The tools over the Model Context Protocol, by its own SDK: streamable HTTP at ``/mcp``, and stdio (ADR 0013)."""
