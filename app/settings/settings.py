"""All settings, put together from the settings of each subject."""

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, DotEnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from app.domain.stages import STAGES
from app.settings.cloudflare import CloudflareSettings
from app.settings.embedding import EmbeddingSettings
from app.settings.issuers import IssuerSettings
from app.settings.models import ModelSettings
from app.settings.observing import ObservingSettings
from app.settings.quotas import QuotaSettings
from app.settings.service import ServiceSettings
from app.settings.sources import Variables
from app.settings.work import WorkSettings


class Settings(
    QuotaSettings,
    WorkSettings,
    ModelSettings,
    EmbeddingSettings,
    CloudflareSettings,
    ObservingSettings,
    IssuerSettings,
    ServiceSettings,
    BaseSettings,
):
    """All settings of the service; a setting's name in upper case is the name of its variable.

    Checks that concern several settings are here; the context of their errors names the setting that is to be changed.
    Pydantic takes the fields of the last base class first, and reports the errors of several settings in the order of
    the fields.
    """

    model_config = SettingsConfigDict(
        env_file=".env", frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return where settings come from, the first first: what was given, the environment, files with variables."""
        del env_settings, file_secret_settings
        has_variables = isinstance(dotenv_settings, DotEnvSettingsSource) and dotenv_settings.env_vars
        return init_settings, Variables(settings_cls), *([dotenv_settings] if has_variables else [])

    @model_validator(mode="after")
    def _check_reads(self) -> Self:
        """Refuse replicas to several workers: only the process that wrote knows which state a read must have seen."""
        if self.cloudflare_d1_reads == "replicas" and self.several_workers:
            problem = "replicas is for one process alone: set primary, or set WORKERS to 1"
            raise PydanticCustomError("several_settings", problem, {"setting": "cloudflare_d1_reads"})
        return self

    @property
    def language_model_url(self) -> str | None:
        """The URL of the language model; None where the settings name no model, or no URL."""
        if self.language_model == "workers-ai":
            return self.cloudflare_api_base_url
        own = self.openai_base_url if self.language_model == "openai" else None
        return None if self.language_model == "none" else self.language_model_base_url or own

    @property
    def language_model_lacks(self) -> str | None:
        """The first setting that the language model needs and that is not set; None: all are set."""
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
        """The place of the memories, in the words of an operator."""
        if not self.on_cloudflare:
            return str(self.data_dir.absolute())
        names = {"Cloudflare account": self.cloudflare_account_id, "D1 database": self.cloudflare_d1_database_id}
        return ", ".join(f"{what} {name}" for what, name in names.items() if name) or "Cloudflare"
