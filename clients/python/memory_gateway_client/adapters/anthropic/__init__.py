"""Memory Gateway for Anthropic's memory tool (``memory_20250818``): the files that Claude keeps are memories."""

from memory_gateway_client.adapters.anthropic.tool import AsyncMemoryTool, MemoryTool

__all__ = ["AsyncMemoryTool", "MemoryTool"]
