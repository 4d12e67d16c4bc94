"""Services that can be measured, each behind the same protocol."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import httpx

from bench.quality.service import Service
from bench.quality.services.gateway import Gateway
from bench.quality.services.mcp_memory import McpMemory
from bench.quality.services.mem0 import Mem0

SERVICES: Mapping[str, Callable[[httpx.AsyncClient, str | None], Service]] = MappingProxyType(
    {"gateway": Gateway, "mem0": Mem0, "mcp-memory": McpMemory}
)
"""Adapters by name: each takes a client whose base URL is the service's, and its token or key."""
