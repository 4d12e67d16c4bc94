"""Every setting of the service, from the environment or a ``.env`` file: one object, one module for each subject."""

from app.settings.forms import PRINTABLE, is_base_url
from app.settings.loading import load_settings, notices
from app.settings.service import MAX_WORKERS
from app.settings.settings import Settings

__all__ = ["MAX_WORKERS", "PRINTABLE", "Settings", "is_base_url", "load_settings", "notices"]
