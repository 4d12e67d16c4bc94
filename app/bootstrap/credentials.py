"""Builds the service's credentials from the settings."""

from app.adapters.local.secret_file import local_secrets
from app.bootstrap.files import data_dir
from app.domain.errors import ConfigurationError
from app.services.access.credentials import Credentials
from app.settings import Settings


def build_credentials(settings: Settings) -> Credentials:
    """Return credentials by the configured secrets, or by the data directory's own where the service is embedded.

    Raises:
        ConfigurationError: on Cloudflare no secret is configured.
    """
    if settings.auth_secrets:
        return Credentials(settings.auth_secrets)
    if settings.on_cloudflare:
        raise ConfigurationError("AUTH_SECRETS is not set: replicas on Cloudflare have no secret file to share.")
    return Credentials(local_secrets(data_dir(settings)))
