"""Memory Gateway for CrewAI: the memory of a crew or of an agent."""

from memory_gateway_client.adapters.crewai.memory import GatewayMemory
from memory_gateway_client.adapters.crewai.storage import GatewayStorage

__all__ = ["GatewayMemory", "GatewayStorage"]
