"""Settings of what tenants and agents may hold and do."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

from app.domain.limits import MAX_WINDOW_TOKENS, WINDOW_TOKENS
from app.domain.quotas import EPISODES, Defaults, Limits

Limit: TypeAlias = Annotated[int, Field(ge=0)] | Literal["unlimited"]
"""A limit that holds unless its setting is ``unlimited``."""


class QuotaSettings(BaseModel):
    """Settings of what tenants and agents may hold and do."""

    tenant_memories: Limit = Field(
        1_000_000,
        description="Memories a tenant may hold, or `unlimited`, where `memory-gateway quota` sets no other limit.",
    )
    tenant_bytes: Limit = Field(
        2 * 1024**3,
        description=(
            "Bytes of all memory tiers of a tenant, or `unlimited`, where `memory-gateway quota` sets no other limit."
        ),
    )
    tenant_stores_per_minute: Limit = Field(
        6_000,
        description=(
            "Writes to any memory tier that a tenant may make in a minute, or `unlimited`, where "
            "`memory-gateway quota` sets no other limit."
        ),
    )
    tenant_recalls_per_minute: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Recalls and explanations a tenant may make in a minute, of each replica."
    )
    tenant_model_calls_per_day: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Calls of language models that a tenant may cause in a day (UTC)."
    )
    tenant_model_tokens_per_day: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Tokens that a tenant's calls of language models may use in a day (UTC)."
    )
    tenant_episodes: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        EPISODES, description="Episodes a tenant may have (docs/tiers.md)."
    )
    window_tokens: Annotated[int, Field(ge=1, le=MAX_WINDOW_TOKENS)] = Field(
        WINDOW_TOKENS,
        description=(
            "Tokens that a window of working memory keeps: older messages fall out of it into long-term memory, and "
            "are summarised (docs/tiers.md)."
        ),
    )
    agent_memories: Limit = Field(
        500_000,
        description="Memories an agent may hold, or `unlimited`, where `memory-gateway quota` sets no other limit.",
    )
    agent_bytes: Limit = Field(
        1024**3,
        description=(
            "Bytes of all memory tiers of an agent, or `unlimited`, where `memory-gateway quota` sets no other limit."
        ),
    )
    agent_stores_per_minute: Limit = Field(
        3_000,
        description=(
            "Writes to any memory tier that an agent may make in a minute, or `unlimited`, where "
            "`memory-gateway quota` sets no other limit."
        ),
    )
    credential_requests_per_minute: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description=(
            "Requests that one credential may make in a minute, of each replica, where it was not minted with a limit "
            "of its own."
        ),
    )
    agent_recalls_per_minute: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Recalls and explanations an agent may make in a minute, of each replica."
    )

    @property
    def quota_defaults(self) -> Defaults:
        """The limits of tenants and agents for which no other limits are set."""
        return Defaults(
            tenant=_limits(self.tenant_memories, self.tenant_bytes, self.tenant_stores_per_minute),
            agent=_limits(self.agent_memories, self.agent_bytes, self.agent_stores_per_minute),
        )


def _limits(*values: int | str) -> Limits:
    return Limits(*(value if isinstance(value, int) else None for value in values))
