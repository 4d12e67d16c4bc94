"""Memory Gateway for Agno: an agent's memory that arrives by itself, and its tools."""

from memory_gateway_client.adapters.agno.memory import AgentMemory, agent_of_user
from memory_gateway_client.adapters.agno.toolkit import memory_tools

__all__ = ["AgentMemory", "agent_of_user", "memory_tools"]
