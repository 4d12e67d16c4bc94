"""Creates the secret of the embedded default once, in the data directory, readable by its owner only."""

import os
import secrets
from pathlib import Path

from app.domain.errors import ConfigurationError

_KID = "local"
AUTH_FILE = "auth-secret"
"""The name of the file in the data directory."""
_SECRET_BYTES = 32


def local_secrets(data_dir: Path) -> dict[str, str]:
    """Return the data directory's secret by ``kid``, and create one where there is none.

    Raises:
        ConfigurationError: the secret can be neither read nor created.
    """
    path = data_dir / AUTH_FILE
    try:
        if not path.exists():
            _make(path)
        secret = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The secret {path} cannot be used: {error}. Set AUTH_SECRETS.") from error
    if len(secret) < _SECRET_BYTES:
        raise ConfigurationError(f"The secret {path} is too short to be ours: remove the file, or set AUTH_SECRETS.")
    return {_KID: secret}


def _make(path: Path) -> None:
    """Write a secret atomically; of two concurrent processes, the first one's counts."""
    draft = path.with_name(f"{AUTH_FILE}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(48))
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink()
