"""Memory Gateway for LangGraph: the memory as a graph's store, and as tools."""

from memory_gateway_client.adapters.langchain_core import memory_tools
from memory_gateway_client.adapters.langgraph.store import MemoryStore

__all__ = ["MemoryStore", "memory_tools"]
