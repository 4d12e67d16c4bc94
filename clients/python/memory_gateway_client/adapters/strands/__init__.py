"""Memory Gateway for Strands Agents: a store of an agent's memory manager, and the memory's tools."""

from memory_gateway_client.adapters.strands.store import MemoryGatewayStore
from memory_gateway_client.adapters.strands.tools import memory_tools

__all__ = ["MemoryGatewayStore", "memory_tools"]
