"""Every setting of the service, from the environment or a ``.env`` file."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import httpx
import platformdirs
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource, NoDecode, SettingsConfigDict

from app.domain.errors import ConfigurationError
from app.domain.quotas import EPISODES, Defaults, Limits
from app.domain.stages import STAGES, Stage

_SECRET_BYTES = 32
_SECRET_CHARACTERS = 8
_KID = re.compile(r"[A-Za-z0-9._-]{1,32}")
_ACCOUNT_ID = re.compile(r"[0-9A-Fa-f]{32}")
_DATABASE_ID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
PRINTABLE = re.compile(r"[!-~]+")
"""What a header can carry as a part of it: visible ASCII."""
_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_HOST_NAME = re.compile(r"\*|\[[0-9a-f:.]+\]|[a-z0-9._-]+")
_PORTS = range(1, 65536)
_MAX_FILTERABLE = 7
_FEWEST_CALLS = 100
_FILTERABLE_RESERVED = {"tenant_id", "agent_id", "created_at", "revision", "embedding"}
_FILTERABLE_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PREFIX_CHARACTERS = 200
_NO_PREFIX = "off"
_MODEL = re.compile(r"[!-~]{1,200}")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_MEBIBYTE = 1024 * 1024
_FOLDER_FILE = ".env"
MAX_WORKERS = 64
"""More processes than a machine has processors gain nothing."""


def _default_data_dir() -> Path:
    """Return the folder that a command uses wherever it is started: the checkout's own, or the user's."""
    checkout = Path(__file__).resolve().parent.parent
    if (checkout / "pyproject.toml").is_file():
        return checkout / "data"
    return platformdirs.user_data_path("memory-gateway", appauthor=False)


class Settings(BaseSettings):
    """What an operator may set; the name in upper case is the variable's name."""

    model_config = SettingsConfigDict(
        env_file=".env", frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8000, description="Port to listen on.")
    allowed_hosts: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description=(
            "Names that requests may be addressed to, separated by commas; `*` allows all. Empty: on a loopback "
            "address `localhost`, `127.0.0.1` and `[::1]`, against DNS rebinding, on any other all."
        ),
    )
    max_connections: Annotated[int, Field(ge=2, le=100_000)] = Field(
        800, description="Connections open at once; half as many from one address (docs/limits.md)."
    )
    workers: Annotated[int, Field(ge=1, le=MAX_WORKERS)] = Field(
        1,
        description=(
            f"Processes that `serve` answers with, at most {MAX_WORKERS}; each has connections and caches of its own "
            "(docs/operations.md)."
        ),
    )
    data_dir: Path = Field(
        default_factory=_default_data_dir,
        description=(
            "Folder in which the embedded default keeps its files. Empty: `data` in the checkout that the command "
            "belongs to, else a folder of the user (`~/.local/share/memory-gateway` on Linux)."
        ),
    )
    auth_secrets: Annotated[dict[str, str], NoDecode] = Field(
        default_factory=dict,
        description=(
            "Secrets that sign credentials, `kid=secret` separated by commas: the kid 1 to 32 of `A-Z a-z 0-9 . _ -`, "
            "the secret at least 32 bytes. The first signs, all verify. Empty: one is made in DATA_DIR."
        ),
        repr=False,
    )
    cloudflare_account_id: str | None = Field(None, description="Account whose D1 and Vectorize hold the memories.")
    cloudflare_api_token: str | None = Field(
        None, description="Token with D1 Edit, Vectorize Edit and, for `workers-ai`, Workers AI Read.", repr=False
    )
    cloudflare_d1_database_id: str | None = Field(None, description="The D1 database; `provision` prints it.")
    cloudflare_api_base_url: str = Field(
        "https://api.cloudflare.com/client/v4", description="Where the Cloudflare API answers."
    )
    cloudflare_calls_per_window: Annotated[int, Field(ge=0)] = Field(
        1100,
        description=(
            "Cloudflare calls that all processes together may make in 300 seconds, of the 1,200 that the token's "
            "owner has, at least 100; 0 counts none."
        ),
    )
    tenant_call_weights: Annotated[dict[str, Annotated[float, Field(gt=0, le=1000)]], NoDecode] = Field(
        default_factory=dict,
        description=(
            "Tenants whose part of scarce Cloudflare calls is not 1, `tenant:weight` separated by commas "
            "(docs/operations.md)."
        ),
    )
    cloudflare_d1_reads: Literal["primary", "replicas"] = Field(
        "primary",
        description=(
            "Where D1 answers reads behind `deploy/edge`. `replicas` is for one process alone: it sees its own writes "
            "there, and those of others late."
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
    r2_access_key_id: str | None = Field(None, description="Id of an R2 API token with Object Read & Write.")
    r2_secret_access_key: str | None = Field(None, description="Secret of the R2 API token.", repr=False)
    r2_endpoint: str | None = Field(
        None, description="Where R2 answers, where that is not `https://<account>.r2.cloudflarestorage.com`."
    )
    embedder: Literal["auto", "local", "hashing", "openai", "workers-ai"] = Field(
        "auto",
        description=(
            "`local`: a sentence model in the process; `openai`; `workers-ai`; `hashing`: n-grams without meaning. "
            "`auto`: `local` without Cloudflare, with it `openai` where OPENAI_API_KEY is set, else `workers-ai`."
        ),
    )
    embedding_model: str | None = Field(
        None,
        description="Model of `openai` (default text-embedding-3-small) or `workers-ai` (default @cf/baai/bge-m3).",
    )
    embedding_dimensions: Annotated[int, Field(ge=32, le=1536)] | None = Field(
        None, description="Dimensions of an `openai` model, where not its own (at most 1536)."
    )
    embedding_query_prefix: Annotated[str, Field(max_length=_PREFIX_CHARACTERS)] | None = Field(
        None,
        description=(
            "Text before each query that is embedded, in quotes, at most 200 characters; `off` for no text. Not set: "
            "what the model is known to need (docs/embedders.md)."
        ),
    )
    embedding_document_prefix: Annotated[str, Field(max_length=_PREFIX_CHARACTERS)] | None = Field(
        None,
        description=(
            "The same before each memory. Vectors with another prefix are another embedding config; "
            "`memory-gateway reembed` moves the data to it."
        ),
    )
    openai_api_key: str | None = Field(None, description="Key for `openai`.", repr=False)
    openai_base_url: str = Field("https://api.openai.com/v1", description="Where the OpenAI API, or a proxy, answers.")
    openai_calls_per_minute: Annotated[int, Field(ge=0)] = Field(
        3000,
        description=(
            "Calls this process may make in a minute of the embeddings API of `openai`, which takes 3,000 of a new "
            "account; 0 counts none."
        ),
    )
    reranker: Literal["none", "http", "workers-ai"] = Field(
        "none",
        description=(
            "What rates the best candidates of each recall anew (docs/retrieval.md): `none`; `http`: a rerank endpoint "
            "as Cohere, Jina, vLLM, llama.cpp and LiteLLM have it; `workers-ai`. Both are sent queries and memories."
        ),
    )
    reranker_model: str | None = Field(
        None, description="Model of `http`, where its service needs one; `workers-ai` has @cf/baai/bge-reranker-base."
    )
    reranker_base_url: str | None = Field(
        None, description="Where the service of `http` answers; `/rerank` is put behind it."
    )
    reranker_api_key: str | None = Field(None, description="Key for `http`, where its service needs one.", repr=False)
    reranker_seconds: Annotated[float, Field(gt=0, le=10)] = Field(
        2.0, description="How long a recall waits for the reranker before it answers without, at most 10."
    )
    language_model: Literal["none", "openai", "workers-ai", "http"] = Field(
        "none",
        description=(
            "What learns of conversations and writes answers (docs/constrained-api.md): `none`; `openai`; "
            "`workers-ai`; `http`: a server with OpenAI's chat completions, as Ollama, llama.cpp and vLLM. It is sent "
            "messages, memories and queries."
        ),
    )
    language_model_name: str | None = Field(
        None,
        description=(
            "Model of all stages. Where not set: on `workers-ai` @cf/nvidia/nemotron-3-120b-a12b for `synthesise` and "
            "@cf/meta/llama-4-scout-17b-16e-instruct for the others, with `http` the server's own, if it takes "
            "calls without a name; `openai` needs one."
        ),
    )
    language_model_names: Annotated[dict[Stage, str], NoDecode] = Field(
        default_factory=dict,
        description=(
            "Models of some stages, `stage=model` separated by commas; the stages are `extract`, `detail`, `verify`, "
            "`classify`, `analyse` and `synthesise`."
        ),
    )
    language_model_base_url: str | None = Field(
        None,
        description=(
            "Where the server of `http` answers; `/chat/completions` is put behind it. For `openai` where it is not "
            "OPENAI_BASE_URL, such as Cloudflare's AI Gateway."
        ),
    )
    language_model_api_key: str | None = Field(
        None,
        description="Key for `http`, where its server needs one, and for `openai`, where it is not OPENAI_API_KEY.",
        repr=False,
    )
    language_model_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        60.0, description="How long a call of a language model that an ingestion makes may take, at most 600."
    )
    recall_model_seconds: Annotated[float, Field(gt=0, le=60)] = Field(
        8.0, description="How long a recall waits for language models in all before it answers without, at most 60."
    )
    local_model_dir: Path | None = Field(
        None, description="Directory of a BERT-family sentence model to use instead of all-MiniLM-L6-v2."
    )
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
        256 * _MEBIBYTE, description="Memory for the vectors of recently searched agents, in bytes."
    )
    indexer_seconds: Annotated[float, Field(gt=0, le=30)] | None = Field(
        None,
        description=(
            "Pause between two rounds of the indexer while there is work, at most 30; without work it is 20 times "
            "as long. 15 on Cloudflare, else 1, where not set."
        ),
    )
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
    audit_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        400, description="Days for which `memory-gateway prune` keeps audit rows and the receipts of erasures."
    )
    episode_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        90, description="Days for which `memory-gateway prune` keeps episodes and runs."
    )
    audit_recalls: bool = Field(
        default=True,
        description="Whether recalls leave a row in the audit: which memories they returned, never the query.",
    )
    metrics_tenants: bool = Field(
        default=False,
        description="Whether `/metrics`, which needs no credential, names tenants and what each of them costs.",
    )
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", description="`json`, `text`, or `auto`: text on a terminal, JSON elsewhere."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="The least severe log level.")

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_lower_case(cls, value: object) -> object:
        """Take ``INFO`` for ``info``, as Python's own levels are written."""
        return value.lower() if isinstance(value, str) else value

    @field_validator("auth_secrets", mode="before")
    @classmethod
    def _read_secrets(cls, value: object) -> object:
        """Read ``kid=secret,kid=secret``."""
        if not isinstance(value, str):
            return value
        pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
        secrets = {kid: secret for kid, _, secret in pairs}
        if len(secrets) != len(pairs):
            raise ValueError("every secret needs a kid of its own")
        return secrets

    @field_validator("embedding_query_prefix", "embedding_document_prefix")
    @classmethod
    def _check_prefix(cls, value: str | None) -> str | None:
        """Take ``off`` for no prefix: a variable that is empty counts as one that is not set."""
        if value is not None and _NO_TEXT.search(value):
            raise ValueError("must be text without NUL")
        return "" if value == _NO_PREFIX else value

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _read_hosts(cls, value: object) -> object:
        """Read ``name,name``."""
        if not isinstance(value, str):
            return value
        return [name.strip().lower() for name in value.split(",") if name.strip()]

    @field_validator("allowed_hosts")
    @classmethod
    def _check_hosts(cls, value: list[str]) -> list[str]:
        for name in value:
            if not _HOST_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no host name: write it without scheme, port and path, IPv6 in brackets")
        return value

    @field_validator("language_model_names", mode="before")
    @classmethod
    def _read_models(cls, value: object) -> object:
        """Read ``stage=model,stage=model``."""
        if not isinstance(value, str):
            return value
        pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
        models = {stage.strip(): model.strip() for stage, _, model in pairs}
        if len(models) != len(pairs):
            raise ValueError("name each stage once")
        return models

    @field_validator("language_model_name", "language_model_names")
    @classmethod
    def _check_models(cls, value: str | dict[str, str] | None) -> str | dict[str, str] | None:
        for name in [value] if isinstance(value, str) else (value or {}).values():
            if not _MODEL.fullmatch(name):
                raise ValueError("the name of a model must be 1 to 200 printable ASCII characters without spaces")
        return value

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

    @property
    def quota_defaults(self) -> Defaults:
        """The limits of whoever has no others."""
        return Defaults(
            tenant=Limits(self.tenant_memories, self.tenant_bytes, self.tenant_stores_per_minute),
            agent=Limits(self.agent_memories, self.agent_bytes, self.agent_stores_per_minute),
        )

    @property
    def language_model_url(self) -> str | None:
        """Where the language model answers; None where there is none, or no URL of it."""
        if self.language_model == "workers-ai":
            return self.cloudflare_api_base_url
        own = self.openai_base_url if self.language_model == "openai" else None
        return None if self.language_model == "none" else self.language_model_base_url or own

    @property
    def language_model_lacks(self) -> str | None:
        """The first setting that the language model needs and that is not set; None: it has all."""
        needed: dict[str, object] = {}
        if self.language_model == "workers-ai":
            needed = {
                "CLOUDFLARE_ACCOUNT_ID": self.cloudflare_account_id,
                "CLOUDFLARE_API_TOKEN": self.cloudflare_api_token,
            }
        elif self.language_model == "openai":
            named = self.language_model_name or all(stage in self.language_model_names for stage in STAGES)
            needed = {
                "LANGUAGE_MODEL_NAME": named,
                "OPENAI_API_KEY": self.language_model_api_key or self.openai_api_key,
            }
        elif self.language_model == "http":
            needed = {"LANGUAGE_MODEL_BASE_URL": self.language_model_base_url}
        return next((name for name, value in needed.items() if not value), None)

    @property
    def chosen_embedder(self) -> str:
        """The embedder that ``auto`` stands for, or the one that is named."""
        if self.embedder != "auto":
            return self.embedder
        if not self.on_cloudflare:
            return "local"
        return "openai" if self.openai_api_key else "workers-ai"

    @property
    def kept_in(self) -> str:
        """Where the memories are, as an operator knows the place."""
        if not self.on_cloudflare:
            return str(self.data_dir.absolute())
        names = {"Cloudflare account": self.cloudflare_account_id, "D1 database": self.cloudflare_d1_database_id}
        return ", ".join(f"{what} {name}" for what, name in names.items() if name) or "Cloudflare"

    @property
    def on_cloudflare(self) -> bool:
        """Whether any setting names a Cloudflare account to keep the memories in."""
        return bool(self.cloudflare_account_id or self.cloudflare_api_token or self.cloudflare_d1_database_id)

    @field_validator("auth_secrets")
    @classmethod
    def _check_secrets(cls, value: dict[str, str]) -> dict[str, str]:
        for number, (kid, secret) in enumerate(value.items(), 1):  # where the kid was forgotten, it is the secret
            if not _KID.fullmatch(kid) or not secret:
                form = "write each secret as kid=secret, the kid of 1 to 32 of A-Z a-z 0-9 . _ -"
                raise ValueError(f"secret {number}: {form}")
            if len(secret.encode()) < _SECRET_BYTES:
                raise ValueError(f"secret {number} must have at least {_SECRET_BYTES} bytes")
            if len(set(secret)) < _SECRET_CHARACTERS:
                raise ValueError(f"secret {number} must have at least {_SECRET_CHARACTERS} different characters")
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
        if 0 < value < _FEWEST_CALLS:
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

    @field_validator(
        "cloudflare_api_token",
        "openai_api_key",
        "reranker_api_key",
        "language_model_api_key",
        "r2_access_key_id",
        "r2_secret_access_key",
    )
    @classmethod
    def _check_key(cls, value: str | None) -> str | None:
        """Take a key with white space around it; it becomes a part of a header."""
        key = (value or "").strip()
        if key and not PRINTABLE.fullmatch(key):
            raise ValueError("must be printable ASCII without spaces")
        return key or None

    @field_validator(
        "cloudflare_api_base_url", "openai_base_url", "reranker_base_url", "language_model_base_url", "r2_endpoint"
    )
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        """Take a URL that a path can be put behind."""
        if value is None:
            return None
        url = value.strip()
        if not is_base_url(url):
            raise ValueError("must be an http or https URL with a host, and no credentials, query or fragment")
        return url


def load_settings(*, before_env_file: bool = False, folder_file: bool = True, **overrides: object) -> Settings:
    """Read the settings; an override that is not None wins over the environment.

    The environment wins over the file that ENV_FILE names, which wins over the ``.env`` of the working directory. The
    file that is named must exist, except ``before_env_file``, where the caller is about to write it.

    Args:
        before_env_file: whether the file that ENV_FILE names may be missing.
        folder_file: whether the working directory's ``.env`` is read. A host starts its commands in whatever folder a
            person has opened, whose files are not to decide where memories go.
        overrides: settings that win over all others; None is none.

    Raises:
        ConfigurationError: a setting cannot be used; the message names the variable, and the file where one holds it.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    named = os.environ.get("ENV_FILE")
    if named and not before_env_file and not _is_readable(Path(named).expanduser()):
        raise ConfigurationError(f"ENV_FILE: {named} is no file.")
    env_files = [*([_FOLDER_FILE] if folder_file else []), *([named] if named else [])]
    try:
        return Settings(_env_file=tuple(env_files), **given)  # type: ignore[arg-type]
    except (OSError, UnicodeDecodeError) as error:
        said = f"{' or '.join(env_files)} cannot be read ({type(error).__name__})."
        raise ConfigurationError(f"Settings: {said}") from error
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, e['loc'])).upper()}: {e['msg'].removeprefix('Value error, ')}"
            f"{'' if e['loc'][0] in given else _origin(str(e['loc'][0]), env_files)}"
            for e in error.errors(include_input=False)
        ]
        raise ConfigurationError("; ".join(problems)) from error


def _origin(name: str, env_files: Sequence[str]) -> str:
    """Say which of the files holds the setting, the last first; nothing where the environment does.

    A pipe is gone once it has been read, and hides what the files before it hold.
    """
    if name in EnvSettingsSource(Settings).env_vars:
        return ""
    for path in (Path(file).expanduser() for file in reversed(env_files)):
        if path.is_fifo():
            return ""
        if name in DotEnvSettingsSource(Settings, env_file=path).env_vars:
            return f" (read from {path.resolve()})"
    return ""


def notices(settings: Settings, *, folder_file: bool = True) -> list[str]:
    """Say what an operator may not know of the settings: their files, and services that are not the vendors'.

    ``folder_file`` is as for ``load_settings``.
    """
    files = [*([_FOLDER_FILE] if folder_file else []), os.environ.get("ENV_FILE", "")]
    read = [Path(name).expanduser() for name in files if name]
    said = [f"Settings are read from {path.resolve()}." for path in read if _is_readable(path)]
    for name in ("cloudflare_api_base_url", "openai_base_url"):
        url, own = getattr(settings, name), type(settings).model_fields[name].default
        if url != own:
            said.append(f"{name.upper()} is {url}, which is not the vendor's ({own}).")
    if settings.reranker == "http" and settings.reranker_base_url:
        said.append(f"RERANKER_BASE_URL is {settings.reranker_base_url}: queries and memories are sent there.")
    return [*said, *_notices_of_model(settings)]


def _notices_of_model(settings: Settings) -> Iterator[str]:
    """Say where a language model is sent what, or which settings of one are not used."""
    if settings.language_model == "none":
        names = ("language_model_base_url", "language_model_name", "language_model_names", "language_model_api_key")
        unused = [name.upper() for name in names if getattr(settings, name)]
        if unused:
            yield f"LANGUAGE_MODEL is none: {', '.join(unused)} {'is' if len(unused) == 1 else 'are'} not used."
    elif settings.language_model_lacks is None:
        named = {settings.language_model_names.get(stage, settings.language_model_name) for stage in STAGES}
        models = ", ".join(sorted(name or "its default" for name in named))
        yield (
            f"LANGUAGE_MODEL is {settings.language_model} ({models}) at {settings.language_model_url}: messages, "
            "memories and queries are sent there."
        )


def is_base_url(url: str) -> bool:
    """Whether a path can be put behind it: an http or https URL with a host, and no credentials, query or fragment."""
    if not PRINTABLE.fullmatch(url):
        return False
    try:
        read = httpx.URL(url)
        read.host.encode("idna")  # as the resolver will
    except (httpx.InvalidURL, UnicodeError):
        return False
    reachable = read.scheme in {"http", "https"} and read.host and (read.port is None or read.port in _PORTS)
    return bool(reachable and not (read.userinfo or read.query or read.fragment))


def _is_readable(path: Path) -> bool:
    return path.is_file() or path.is_fifo()
