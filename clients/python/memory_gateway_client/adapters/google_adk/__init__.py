"""Memory Gateway for Google's Agent Development Kit: the memory service of a ``Runner``."""

from memory_gateway_client.adapters.google_adk.service import MemoryGatewayService, agent_of_user

__all__ = ["MemoryGatewayService", "agent_of_user"]
