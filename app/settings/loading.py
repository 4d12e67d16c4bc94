"""Reads the settings, and says where they come from."""

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource

from app.domain.errors import ConfigurationError
from app.domain.stages import STAGES
from app.settings.problems import problem
from app.settings.settings import Settings

_FOLDER_FILE = ".env"


def load_settings(*, before_env_file: bool = False, folder_file: bool = True, **overrides: object) -> Settings:
    """Read the settings; an override that is not None wins over the environment.

    The environment wins over the file that ENV_FILE names, which wins over the ``.env`` of the working directory. The
    named file must exist, unless the caller says ``before_env_file``, since it is about to write the file.

    Args:
        before_env_file: whether the file that ENV_FILE names may be missing.
        folder_file: whether the working directory's ``.env`` is read. A host starts its commands in any folder that a
            person has opened, whose files must not decide where memories go.
        overrides: settings that win over all others; an override of None counts as not given.

    Raises:
        ConfigurationError: a setting cannot be used; the message names the variable, and the file if a file holds it.
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
        raise ConfigurationError("; ".join(_problems(error, given, env_files))) from error


def _problems(error: ValidationError, given: Collection[str], env_files: Sequence[str]) -> Iterator[str]:
    """Give a sentence for each variable that cannot be used: why, and where it was read, unless it was ``given``."""
    for each in error.errors(include_input=False):
        name, *rest = each["loc"] or (each["ctx"]["setting"],)  # without a place: an error of several settings
        origin = "" if name in given else _origin(str(name), env_files)
        variable = ".".join([str(name).upper(), *(str(part) for part in rest if part != "[key]")])
        yield f"{variable}: {problem(each['type'], each.get('ctx', {}), each['msg'])}{origin}"


def _origin(name: str, env_files: Sequence[str]) -> str:
    """Return the file that holds the setting, of several the last; the empty text where the environment holds it.

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
    """Return notices of settings that an operator may not know of: their files, and services that are not the vendors'.

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
    if settings.traces_url is not None:
        content = ", with queries and memories" * settings.otel_instrumentation_genai_capture_message_content
        said.append(f"OTEL_EXPORTER_OTLP_ENDPOINT is set: traces are sent to {settings.traces_url}{content}.")
    return [*said, *_notices_of_model(settings)]


def _notices_of_model(settings: Settings) -> Iterator[str]:
    """Give a notice of the language model that is sent data, or of settings of a language model that are not used."""
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


def _is_readable(path: Path) -> bool:
    return path.is_file() or path.is_fifo()
