"""Memory Gateway for LangChain: the memory as tools of an agent."""

from memory_gateway_client.adapters.langchain.tools import MemoryTool, memory_tools

__all__ = ["MemoryTool", "memory_tools"]
