"""Settings of the process: where it listens, where it keeps its files, who may call, what it logs."""

import re
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import BaseModel, Field, field_validator
from pydantic_settings import NoDecode

from app.settings import secret_strength

_SECRET_BYTES = 32
_SECRET_CHARACTERS = 8
_KID = re.compile(r"[A-Za-z0-9._-]{1,32}")
_HOST_NAME = re.compile(r"\*|\[[0-9a-f:.]+\]|[a-z0-9._-]+")
MAX_WORKERS = 64
"""The most processes that serve: more processes than a machine has processors gain nothing."""


def _default_data_dir() -> Path:
    """Return the data folder, which does not depend on the working directory: the checkout's own, or the user's."""
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file():
        return checkout / "data"
    return platformdirs.user_data_path("memory-gateway", appauthor=False)


class ServiceSettings(BaseModel):
    """Settings of the process: where it listens, where it keeps its files, who may call, what it logs."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8000, description="Port to listen on.")
    allowed_hosts: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description=(
            "Names that requests may be addressed to, separated by commas; `*` allows all. Empty, against DNS "
            "rebinding: `localhost`, `127.0.0.1` and `[::1]`, and where HOST is no loopback address also addresses, "
            "names without a dot and this machine's."
        ),
    )
    max_connections: Annotated[int, Field(ge=2, le=100_000)] = Field(
        800, description="Connections open at once; half as many from one address (docs/limits.md)."
    )
    request_wait_seconds: Annotated[float, Field(gt=0, le=60)] = Field(
        1.0, description="How long a request waits for its turn before it is refused (503 `overloaded`)."
    )
    workers: Annotated[int, Field(ge=1, le=MAX_WORKERS)] | None = Field(
        "auto",
        validate_default=True,
        description=(
            f"Processes that `serve` answers with, at most {MAX_WORKERS}; each has connections and caches of its own. "
            "`auto`: as many as the processors and the memory allow, at most 4 (docs/operations.md)."
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
            "the secret at least 32 bytes without a pattern (`openssl rand -hex 32` draws one). "
            "The first signs, all verify. Empty: one is made in DATA_DIR."
        ),
        repr=False,
    )
    console: bool = Field(default=True, description="Whether the console is served at `/console` (docs/console.md).")
    console_idle_minutes: Annotated[int, Field(ge=1, le=720)] = Field(
        30, description="Minutes without a request after which somebody is signed out of the console, at most 720."
    )
    console_max_minutes: Annotated[int, Field(ge=5, le=1440)] = Field(
        720, description="Minutes after which somebody is signed out of the console in any case, 5 to 1440."
    )
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", description="`json`, `text`, or `auto`: text on a terminal, JSON elsewhere."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="The least severe log level.")

    @property
    def several_workers(self) -> bool:
        """Whether this process is one of several that serve together; ``serve`` has put a number in place of `auto`."""
        return (self.workers or 1) > 1

    @field_validator("workers", mode="before")
    @classmethod
    def _read_auto(cls, value: object) -> object:
        """Read ``auto`` as None: ``serve`` chooses the number, and nothing else has workers."""
        return None if value == "auto" else value

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

    @field_validator("auth_secrets")
    @classmethod
    def _check_secrets(cls, value: dict[str, str]) -> dict[str, str]:
        for number, (kid, secret) in enumerate(value.items(), 1):  # where the kid was forgotten, ``kid`` is the secret
            if not _KID.fullmatch(kid) or not secret:
                form = "write each secret as kid=secret, the kid of 1 to 32 of A-Z a-z 0-9 . _ -"
                raise ValueError(f"secret {number}: {form}")
            if len(secret.encode()) < _SECRET_BYTES:
                raise ValueError(f"secret {number} must have at least {_SECRET_BYTES} bytes")
            if len(set(secret)) < _SECRET_CHARACTERS:
                raise ValueError(f"secret {number} must have at least {_SECRET_CHARACTERS} different characters")
            if secret_strength.bits(secret) < secret_strength.BITS:
                weak = "is too easy to guess, since it repeats or continues a pattern: draw one (openssl rand -hex 32)"
                raise ValueError(f"secret {number} (kid {kid}) {weak}")
        return value

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
