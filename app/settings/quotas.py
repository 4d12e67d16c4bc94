"""Settings of what tenants and agents may hold and do."""

from typing import Annotated

from pydantic import BaseModel, Field

from app.domain.quotas import EPISODES, Defaults, Limits


class QuotaSettings(BaseModel):
    """Settings of what tenants and agents may hold and do."""

    tenant_memories: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Memories a tenant may hold, where `memory-gateway quota` sets no other limit."
    )
    tenant_bytes: Annotated[int, Field(ge=0)] | None = Field(
        None,
        description="Bytes of content and metadata of a tenant, where `memory-gateway quota` sets no other limit.",
    )
    tenant_stores_per_minute: Annotated[int, Field(ge=0)] | None = Field(
        None,
        description="Stores a tenant may make in a minute, where `memory-gateway quota` sets no other limit.",
    )
    tenant_recalls_per_minute: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Recalls and explanations a tenant may make in a minute, of each process."
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
    agent_memories: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Memories an agent may hold, where `memory-gateway quota` sets no other limit."
    )
    agent_bytes: Annotated[int, Field(ge=0)] | None = Field(
        None,
        description="Bytes of content and metadata of an agent, where `memory-gateway quota` sets no other limit.",
    )
    agent_stores_per_minute: Annotated[int, Field(ge=0)] | None = Field(
        None,
        description="Stores an agent may make in a minute, where `memory-gateway quota` sets no other limit.",
    )
    agent_recalls_per_minute: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Recalls and explanations an agent may make in a minute, of each process."
    )

    @property
    def quota_defaults(self) -> Defaults:
        """The limits of whoever has no others."""
        return Defaults(
            tenant=Limits(self.tenant_memories, self.tenant_bytes, self.tenant_stores_per_minute),
            agent=Limits(self.agent_memories, self.agent_bytes, self.agent_stores_per_minute),
        )
