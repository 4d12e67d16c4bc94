"""Settings of the Cloudflare account: D1, Vectorize, R2 and how many calls are made."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator
from pydantic_settings import NoDecode

from app.settings.forms import BaseUrl, Key

_ACCOUNT_ID = re.compile(r"[0-9A-Fa-f]{32}")
_DATABASE_ID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_MAX_FILTERABLE = 7
_FEWEST_CALLS = 100
_FILTERABLE_RESERVED = {"tenant_id", "agent_id", "created_at", "revision", "embedding"}
_FILTERABLE_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")


class CloudflareSettings(BaseModel):
    """Settings of the Cloudflare account: D1, Vectorize, R2 and how many calls are made."""

    cloudflare_account_id: str | None = Field(None, description="Account whose D1 and Vectorize hold the memories.")
    cloudflare_api_token: Key = Field(
        None, description="Token with D1 Edit, Vectorize Edit and, for `workers-ai`, Workers AI Read.", repr=False
    )
    cloudflare_d1_database_id: str | None = Field(None, description="The D1 database; `provision` prints it.")
    cloudflare_api_base_url: BaseUrl = Field(
        "https://api.cloudflare.com/client/v4",
        description=(
            "Where the Cloudflare API answers, or the Worker of `deploy/edge`, whose secret CLOUDFLARE_API_TOKEN is "
            "then."
        ),
    )
    cloudflare_calls_per_window: int = Field(
        1100,
        description=(
            "Cloudflare calls that all servers together may make in 300 seconds (commands have 80 more), of the 1,200 "
            "that a user, or a token of an account, has, at least 100; 0 counts none. Behind `deploy/edge` none is "
            "counted."
        ),
    )
    tenant_call_weights: Annotated[dict[str, Annotated[float, Field(gt=0, le=1000)]], NoDecode] = Field(
        default_factory=dict,
        description=(
            "Tenants whose part of scarce Cloudflare calls is not 1, `tenant:weight` separated by commas "
            "(docs/operations.md). Behind `deploy/edge` no calls are divided."
        ),
    )
    cloudflare_d1_reads: Literal["primary", "replicas"] = Field(
        "primary",
        description=(
            "Where D1 answers reads behind `deploy/edge`. `replicas` is for one process alone: it sees its own writes "
            "there, and those of others, such as commands, late."
        ),
    )
    filterable_metadata: Annotated[dict[str, Literal["string", "number", "boolean"]], NoDecode] = Field(
        default_factory=dict,
        description=(
            "Metadata keys that Vectorize filters on, at most 7, `key:string`, `key:number` or `key:boolean` "
            "separated by commas. Any key can be filtered on; these with any number of memories."
        ),
    )
    r2_bucket: str | None = Field(
        None, description="The R2 bucket that holds the blobs. Without it there are none on Cloudflare."
    )
    r2_access_key_id: Key = Field(None, description="Id of an R2 API token with Object Read & Write.")
    r2_secret_access_key: Key = Field(None, description="Secret of the R2 API token.", repr=False)
    r2_endpoint: BaseUrl | None = Field(
        None, description="Where R2 answers, where that is not `https://<account>.r2.cloudflarestorage.com`."
    )

    @field_validator("tenant_call_weights", mode="before")
    @classmethod
    def _read_weights(cls, value: object) -> object:
        """Read ``tenant:weight,tenant:weight``."""
        if not isinstance(value, str):
            return value
        pairs = [part.strip().rpartition(":") for part in value.split(",") if part.strip()]
        weights = {tenant: weight for tenant, _, weight in pairs}
        if "" in weights or len(weights) < len(pairs):
            raise ValueError("write each tenant once, as tenant:weight")
        return weights

    @field_validator("filterable_metadata", mode="before")
    @classmethod
    def _read_filterable(cls, value: object) -> object:
        """Read ``key:type,key:type``."""
        if not isinstance(value, str):
            return value
        return {
            key: kind for key, _, kind in (part.strip().partition(":") for part in value.split(",") if part.strip())
        }

    @field_validator("filterable_metadata")
    @classmethod
    def _check_filterable(cls, value: dict[str, str]) -> dict[str, str]:
        if len(value) > _MAX_FILTERABLE:
            raise ValueError(f"at most {_MAX_FILTERABLE} keys may be declared")
        for key in value:
            if key in _FILTERABLE_RESERVED or not _FILTERABLE_KEY.fullmatch(key):
                raise ValueError(f"{key!r} cannot be declared: use A-Z a-z 0-9 _ - and no name of the service's own")
        return value

    @field_validator("cloudflare_account_id")
    @classmethod
    def _check_account_id(cls, value: str | None) -> str | None:
        """Take an id with white space around it; it becomes a part of a path."""
        id_ = (value or "").strip()
        if id_ and not _ACCOUNT_ID.fullmatch(id_):
            raise ValueError("must be the account's id, 32 hexadecimal digits, and not its name")
        return id_ or None

    @field_validator("cloudflare_calls_per_window")
    @classmethod
    def _check_calls(cls, value: int) -> int:
        """Refuse a budget that starting and asking for shares would use up."""
        if value != 0 and value < _FEWEST_CALLS:
            raise ValueError(f"must be 0, which counts no calls, or at least {_FEWEST_CALLS}")
        return value

    @field_validator("cloudflare_d1_database_id")
    @classmethod
    def _check_database_id(cls, value: str | None) -> str | None:
        """Take an id with white space around it; it becomes a part of a path."""
        id_ = (value or "").strip()
        if id_ and not _DATABASE_ID.fullmatch(id_):
            raise ValueError("must be the database's id, a UUID, and not its name; `provision` prints it")
        return id_ or None

    @field_validator("r2_bucket")
    @classmethod
    def _check_bucket(cls, value: str | None) -> str | None:
        """Take a name with white space around it; it becomes a part of a path."""
        bucket = (value or "").strip()
        if bucket and not _BUCKET.fullmatch(bucket):
            raise ValueError("must be a bucket's name: 3 to 63 of a-z 0-9 -, the first and the last of them no hyphen")
        return bucket or None

    @property
    def on_cloudflare(self) -> bool:
        """Whether any setting names a Cloudflare account to keep the memories in."""
        return bool(self.cloudflare_account_id or self.cloudflare_api_token or self.cloudflare_d1_database_id)
