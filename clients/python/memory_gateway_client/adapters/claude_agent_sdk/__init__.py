"""Memory Gateway for Claude's Agent SDK: hooks that recall and keep, and the memory's tools in this process."""

from memory_gateway_client.adapters.claude_agent_sdk.memory import AgentMemory
from memory_gateway_client.adapters.claude_agent_sdk.server import SERVER, memory_server, tool_names

__all__ = ["SERVER", "AgentMemory", "memory_server", "tool_names"]
