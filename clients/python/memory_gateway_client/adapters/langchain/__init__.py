"""Memory Gateway for LangChain: the memory as tools of an agent."""

from memory_gateway_client.adapters.langchain_core import memory_tools

__all__ = ["memory_tools"]
