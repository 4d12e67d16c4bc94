"""Chooses how many processes serve, and loads what they share before they are started."""

import sys
from importlib import import_module
from tempfile import TemporaryDirectory

from app.adapters.local import machine
from app.adapters.local.inference import openvino
from app.adapters.local.multilingual.installed import multilingual_model_dir
from app.adapters.local.transformer import packaged_model_dir
from app.domain.errors import ConfigurationError
from app.settings import Settings

_MOST = 4
"""The most processes that are chosen by themselves: each one more needs memory, and all of them write one by one."""
_PROCESS_BYTES = 160 * 1024 * 1024
"""The memory of a process that serves, without its model and what it caches."""
_WEIGHTS = "model.safetensors"


def worker_count(settings: Settings, processors: int | None = None, memory_bytes: int | None = None) -> int:
    """Return how many processes serve: as many as the settings say, or as the processors and the memory allow.

    One process serves where a second one would lose more than it gains: with a budget of Cloudflare's calls, of which
    each process spends some for itself and whose calls it shares with its own requests alone; and where read replicas
    answer. Only Linux starts processes that share what was loaded before. Several keep their figures in a temporary
    folder; a container whose files are read-only may have none.
    """
    if settings.workers is not None:
        return settings.workers
    if sys.platform != "linux" or _has_call_budget(settings) or settings.cloudflare_d1_reads == "replicas":
        return 1
    if not _has_temporary_folder():
        return 1
    memory = machine.memory_bytes() if memory_bytes is None else memory_bytes
    fitting = _MOST if memory is None else memory // _bytes_of_worker(settings)
    return max(1, min(_MOST, fitting, processors or machine.processors()))


def threads_of_worker(settings: Settings) -> int:
    """Return how many threads compute the model in this process: the workers divide the processors among them."""
    return max(1, machine.processors() // (settings.workers or 1))


def embedding_calls_of_worker(settings: Settings) -> int | None:
    """Return how many calls of OpenAI's embeddings API this process may make in a minute; None: any number.

    The workers divide the calls: connections are spread over them alike.
    """
    calls = settings.openai_calls_per_minute
    return max(1, calls // (settings.workers or 1)) if calls else None


def load_shared(settings: Settings) -> None:
    """Import what a process imports only when it serves, so that processes that are forked afterwards share it."""
    if settings.sensitive_content != "off":
        import_module("app.adapters.local.sensitive_detector")
    if settings.chosen_embedder.startswith("local") or settings.reader != "none":
        try:
            openvino()
        except ConfigurationError:  # a process that needs it says so
            return


def _has_call_budget(settings: Settings) -> bool:
    """Tell whether Cloudflare's calls are counted: with the vendor's API they are, and behind a Worker they are not."""
    vendor = type(settings).model_fields["cloudflare_api_base_url"].default
    counted = settings.cloudflare_calls_per_window > 0 and settings.cloudflare_api_base_url == vendor
    return settings.on_cloudflare and counted


def _has_temporary_folder() -> bool:
    try:
        with TemporaryDirectory():
            return True
    except OSError:
        return False


def _bytes_of_worker(settings: Settings) -> int:
    caches = settings.index_cache_bytes + settings.query_cache_bytes + settings.context_cache_bytes
    return _PROCESS_BYTES + caches + _weights(settings)


def _weights(settings: Settings) -> int:
    """Return the bytes of the weights that each process holds."""
    local = settings.local_model_dir or packaged_model_dir()
    folder = {"local": local, "local-multilingual": multilingual_model_dir()}.get(settings.chosen_embedder)
    if folder is None or not (folder / _WEIGHTS).is_file():
        return 0
    return (folder / _WEIGHTS).stat().st_size
