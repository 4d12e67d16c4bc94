"""Settings of the caches and of the work in the background, and how long records are kept."""

from typing import Annotated, get_args

from pydantic import BaseModel, Field, field_validator
from pydantic_settings import NoDecode

from app.domain.sensitive import Handling, SensitiveKind

_MEBIBYTE = 1024 * 1024


class WorkSettings(BaseModel):
    """Settings of the caches and of the work in the background, and how long records are kept."""

    query_cache_bytes: Annotated[int, Field(ge=0)] = Field(
        16 * _MEBIBYTE, description="Memory for the embeddings of recent queries, in bytes; 0 keeps none."
    )
    context_cache_bytes: Annotated[int, Field(ge=0)] = Field(
        16 * _MEBIBYTE, description="Memory for shared documents that were read lately, in bytes; 0 keeps none."
    )
    context_cache_seconds: Annotated[int, Field(ge=0, le=3600)] = Field(
        30, description="How old a shared document may be that is read, in seconds; 0 keeps none (docs/tiers.md)."
    )
    index_cache_bytes: Annotated[int, Field(ge=0)] = Field(
        256 * _MEBIBYTE,
        description="Memory for the vectors of recently searched agents, in bytes, for each process, shard and "
        "embedding config.",
    )
    indexer_seconds: Annotated[float, Field(gt=0, le=30)] | None = Field(
        None,
        description=(
            "Pause between two rounds of the indexer while there is work, at most 30; without work it is 20 times "
            "as long. 15 on Cloudflare, else 1, where not set."
        ),
    )
    audit_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        400, description="Days for which `memory-gateway prune` keeps audit rows and the receipts of erasures."
    )
    act_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        400, description="Days for which `memory-gateway prune` keeps the rows of administrative acts."
    )
    episode_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        90, description="Days for which `memory-gateway prune` keeps episodes and runs."
    )
    consolidate: bool = Field(
        default=True,
        description="Whether `memory-gateway prune` merges memories that restate each other too (docs/tiers.md).",
    )
    archive_days: Annotated[int, Field(ge=1, le=36_500)] | None = Field(
        None,
        description="Age in days from which memories, episodes and ended runs are moved into the object store, where "
        "no recall finds them; empty: none are (docs/operations.md).",
    )
    snapshots_kept: Annotated[int, Field(ge=0, le=1000)] = Field(
        0,
        description="Snapshots of each tenant that are kept in the object store, a new one each night after 02:00 UTC; "
        "0 makes none (docs/operations.md).",
    )
    canary_minutes: Annotated[int, Field(ge=0, le=10_080)] = Field(
        0,
        description="Minutes between two rounds in which the service asks as its tenants for the canaries of others, "
        "and plants those that are missing; 0 makes none (docs/operations.md).",
    )
    canary_probes: Annotated[int, Field(ge=1, le=100_000)] = Field(
        1000,
        description="The most requests of such a round. As each tenant 300 are made, and the next tenants come in the "
        "next round.",
    )
    audit_recalls: bool = Field(
        default=True,
        description="Whether recalls leave a row in the audit: which memories they returned, never the query.",
    )
    metrics_tenants: bool = Field(
        default=False,
        description="Whether `/metrics` names tenants, what each of them costs and which errors it gets.",
    )
    sensitive_content: Handling = Field(
        "count",
        description="What is done about keys, tokens, card and account numbers in what is stored (docs/security.md): "
        "`off`: nothing; `count`: a metric counts them; `mask`: their kind takes their place; `refuse`: 422.",
    )
    sensitive_kinds: Annotated[list[SensitiveKind], NoDecode] = Field(
        default_factory=lambda: list(get_args(SensitiveKind)),
        description="The kinds that are looked for, separated by commas; empty: all, "
        "`key,token,private_key,password,card,iban` (the password is that of a URL).",
    )
    report_calls: bool = Field(
        default=False,
        description="Whether each answer has a header that tells the Worker in front, which removes it, what the call "
        "was (deploy/edge/README.md).",
    )

    @field_validator("sensitive_kinds", mode="before")
    @classmethod
    def _read_kinds(cls, value: object) -> object:
        """Read ``kind,kind``."""
        if not isinstance(value, str):
            return value
        return [kind.strip().lower() for kind in value.split(",") if kind.strip()]
