"""The limits of a tenant and of its agents, and their use."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

from app.domain.errors import QuotaExceeded
from app.domain.json_types import Json

UNLIMITED = 2**53 - 1
"""The stored value of a limit that the operator has lifted; where NULL is stored, the default holds."""

WARN_FROM = 0.8
"""The part of a limit from which a store is answered with a warning."""

EPISODES = 100_000
"""How many episodes a tenant may have, where the settings set no other number."""

LimitName: TypeAlias = Literal["memories", "bytes", "stores_per_minute"]
RateName: TypeAlias = Literal["recalls_per_minute", "requests_per_minute", "credential_changes_per_minute"]
"""What a process counts by the minute."""
LIMIT_NAMES: tuple[LimitName, ...] = ("memories", "bytes", "stores_per_minute")
TIERS: tuple[str, ...] = ("working", "episodic", "procedural", "shared_context", "audit", "blobs", "ingestion")
"""The tiers beside long-term memory whose bytes ``usage`` counts; ``ingestion``: messages that are no memories yet."""
Needed: TypeAlias = tuple[int, int, int]
"""How many memories, bytes and stores a write adds, in the order of ``LIMIT_NAMES``."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one tenant or of one agent; None: no limit. Bytes are those of all tiers, in UTF-8."""

    memories: int | None = None
    bytes: int | None = None
    stores_per_minute: int | None = None

    @property
    def values(self) -> tuple[int | None, int | None, int | None]:
        """The limits in the order of ``LIMIT_NAMES``."""
        return self.memories, self.bytes, self.stores_per_minute


@dataclass(frozen=True)
class Defaults:
    """The limits of every tenant, and of every agent, for which the operator has set no others."""

    tenant: Limits = field(default_factory=Limits)
    agent: Limits = field(default_factory=Limits)

    def scopes(self, agent_ids: Iterable[str]) -> list[Json]:
        """Return the ``$.scopes`` of a statement: the agents and the tenant, each with its default limits."""
        of_agents: list[Json] = [[agent_id, *self._of_agent] for agent_id in agent_ids]
        return [*of_agents, ["", *self._of_tenant]]

    @cached_property
    def limits(self) -> dict[str, Json]:
        """The defaults as the gate of writes reads them."""
        return {"agent": self._of_agent, "tenant": self._of_tenant}

    @cached_property
    def _of_tenant(self) -> list[int]:
        return _numbers(self.tenant)

    @cached_property
    def _of_agent(self) -> list[int]:
        return _numbers(self.agent)


def _numbers(limits: Limits) -> list[int]:
    return [UNLIMITED if limit is None else limit for limit in limits.values]


@dataclass(frozen=True, slots=True)
class Use:
    """One limit, and how much of it is used."""

    name: LimitName | RateName | Literal["episodes", "runs"]
    scope: Literal["agent", "tenant", "credential"]
    used: int
    limit: int

    @property
    def header(self) -> str:
        """The use as a member of the ``Quota-Warning`` header."""
        return f"{self.name};scope={self.scope};used={self.used};limit={self.limit}"


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows a tenant has beside its memories."""

    idempotency_keys: int
    audit_rows: int
    agent_settings: int
    receipts: int
    """Receipts of finished erasures."""
    snapshot_bytes: int = 0
    """Bytes of the tenant's snapshots in the object store."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows of the tiers, by kind."""

    @property
    def counts(self) -> dict[str, int]:
        """All counts, by name."""
        return {
            "idempotency_keys": self.idempotency_keys,
            "audit_rows": self.audit_rows,
            "agent_settings": self.agent_settings,
            "receipts": self.receipts,
            "snapshot_bytes": self.snapshot_bytes,
            **self.rows,
        }


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tenant (``agent_id`` is None) or one of its agents stores, and its limits."""

    agent_id: str | None
    memories: int
    bytes: int
    stores_this_minute: int
    limits: Limits
    bytes_by_tier: Mapping[str, int] = field(default_factory=dict)
    """The parts of ``bytes``: ``long_term`` and ``TIERS``; empty where the request did not ask for them."""

    @property
    def uses(self) -> "list[Use]":
        """The limits that are set, each with its use."""
        scope: Literal["agent", "tenant"] = "tenant" if self.agent_id is None else "agent"
        used = (self.memories, self.bytes, self.stores_this_minute)
        limits = zip(LIMIT_NAMES, used, self.limits.values, strict=True)
        return [Use(name, scope, used, limit) for name, used, limit in limits if limit is not None]

    def without(self, leaving: int) -> "Usage":
        """Return the usage without bytes that are just leaving."""
        return replace(self, bytes=self.bytes - leaving)

    def exceeded_by(self, needed: Needed) -> "list[Use]":
        """Return the limits that leave less than is needed; a write that needs 0 of a limit does not exceed it."""
        of: dict[str, int] = dict(zip(LIMIT_NAMES, needed, strict=True))
        return [use for use in self.uses if of[use.name] > max(0, use.limit - use.used)]


def near(usages: Iterable[Usage]) -> list[Use]:
    """Return the limits of which at least ``WARN_FROM`` is used."""
    return [use for usage in usages for use in usage.uses if use.used >= WARN_FROM * use.limit]


def exceeded(over: Sequence[Use], *, next_minute: int) -> QuotaExceeded:
    """Return the refusal of a write that exceeds these limits: it names the first, and when to try again."""
    first = over[0]
    only_rate = all(use.name == "stores_per_minute" for use in over)
    return QuotaExceeded(
        f"This is over the {first.scope}'s limit of {first.limit} {first.name.replace('_', ' ')}, of which {first.used}"
        " are used. Nothing was stored.",
        reached=", ".join(use.header for use in over),
        retry_after=next_minute if only_rate else None,
    )


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """The limits of each tenant's calls of language models in a day (UTC); None: no limit."""

    calls_per_day: int | None = None
    tokens_per_day: int | None = None


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """A tenant's calls of language models today (UTC), their tokens, and the limits."""

    calls_today: int
    tokens_today: int
    limits: ModelLimits
