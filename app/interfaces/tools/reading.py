"""What a call of a tool is made of: its arguments are read first, then its services are asked."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from app.domain.json_types import Json
from app.runtime.tenant_services import TenantServices

Ask: TypeAlias = Callable[[TenantServices, str], Awaitable[dict[str, Json]]]
"""Asks the services for an agent, and returns the tool's answer."""

Reader: TypeAlias = Callable[[Mapping[str, Any]], Ask]
"""Reads the arguments of a call; raises ``InvalidRequest`` where they are wrong."""
