"""The secrets of a deployment and the file of the service's settings that keeps them."""

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.adapters.cloudflare.deployment.edge_worker import SECRET

AUTH = "AUTH_SECRETS"
_BYTES = 32
_WRITABLE = re.compile(r"[A-Za-z0-9_=,:/.@+-]+")
"""The characters that mean the same to docker, to a shell and to the reader of settings, without quotes."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The file of the settings that the service starts with.

    Attributes:
        path: Its path, for people.
        held: The settings that it holds.
        account: The settings that it is to hold beside the secrets and the ids of what is made: the account, the
            embedder, keys of R2 where they are set.
        api_token: The API token of the account, which no settings of a service behind a Worker may hold.
        write: Puts settings into it, for its owner alone; all else that it holds stays.
    """

    path: str
    held: Mapping[str, str]
    account: Mapping[str, str]
    api_token: str
    write: Callable[[Mapping[str, str]], None]


@dataclass(frozen=True, slots=True)
class DeploymentSecrets:
    """The secrets that this run goes on with, of which some may be new.

    Attributes:
        auth: The value of ``AUTH_SECRETS``.
        edge: The secret of the edge Worker.
        new: The names of those that were drawn now.
    """

    auth: str
    edge: str
    new: frozenset[str]

    @classmethod
    def of(cls, file: SettingsFile, given_auth: str | None) -> "DeploymentSecrets":
        """Take the secrets of the settings and of the file, and draw those that neither has."""
        auth = given_auth or file.held.get(AUTH)
        edge = file.held.get(SECRET)
        new = {name for name, value in ((AUTH, auth), (SECRET, edge)) if not value}
        return cls(auth or f"k1={_draw()}", edge or _draw(), frozenset(new))


def r2_secret(api_token: str) -> str:
    """Return the secret by which R2 knows an API token: its SHA-256. The access key's id is the id of the token."""
    return hashlib.sha256(api_token.encode()).hexdigest()


def writable(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that can stand in the file without quotes."""
    return {name: value for name, value in settings.items() if _WRITABLE.fullmatch(value)}


def _draw() -> str:
    return secrets.token_hex(_BYTES)
