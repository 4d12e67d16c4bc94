"""Every setting of the service, from the environment or a ``.env`` file."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import ConfigurationError

_SECRET_BYTES = 32
_MEBIBYTE = 1024 * 1024


class Settings(BaseSettings):
    """What an operator may set; the name in upper case is the variable's name."""

    model_config = SettingsConfigDict(env_file=".env", frozen=True, extra="ignore", hide_input_in_errors=True)

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8000, description="Port to listen on.")
    data_dir: Path = Field(Path("data"), description="Where the embedded default keeps its files.")
    auth_secrets: Annotated[dict[str, str], NoDecode] = Field(
        default_factory=dict,
        description=(
            "Secrets that sign credentials, `kid=secret` separated by commas, each at least 32 bytes. The first "
            "signs, all verify. Empty: one is made in DATA_DIR."
        ),
        repr=False,
    )
    embedder: Literal["local", "hashing"] = Field(
        "local",
        description="`local`: a sentence model in the process; `hashing`: n-grams without meaning, for tests.",
    )
    local_model_dir: Path | None = Field(
        None, description="Directory of a BERT-family sentence model to use instead of all-MiniLM-L6-v2."
    )
    query_cache_bytes: Annotated[int, Field(ge=0)] = Field(
        16 * _MEBIBYTE, description="Memory for the embeddings of recent queries, in bytes; 0 keeps none."
    )
    index_cache_bytes: Annotated[int, Field(ge=0)] = Field(
        256 * _MEBIBYTE, description="Memory for the vectors of recently searched agents, in bytes."
    )
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", description="`json`, `text`, or `auto`: text on a terminal, JSON elsewhere."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="The least severe log level.")

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

    @field_validator("auth_secrets")
    @classmethod
    def _check_secrets(cls, value: dict[str, str]) -> dict[str, str]:
        for kid, secret in value.items():
            if not kid:
                raise ValueError("write each secret as kid=secret")
            if len(secret.encode()) < _SECRET_BYTES:
                raise ValueError(f"the secret of {kid!r} must have at least {_SECRET_BYTES} bytes")
        return value


def load_settings(**overrides: object) -> Settings:
    """Read the settings; an override that is not None wins over the environment.

    Raises:
        ConfigurationError: a setting cannot be used; the message names the variable.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, e['loc'])).upper()}: {e['msg'].removeprefix('Value error, ')}"
            for e in error.errors(include_input=False)
        ]
        raise ConfigurationError("; ".join(problems)) from error
