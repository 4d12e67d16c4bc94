"""Memory Gateway for LangGraph: the memory as a graph's store, and as tools."""

from memory_gateway_client.adapters.langgraph.store import MemoryStore
from memory_gateway_client.adapters.langgraph.tools import memory_tools

__all__ = ["MemoryStore", "memory_tools"]
