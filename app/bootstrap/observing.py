"""Opens the export of traces that the settings ask for, and shows the room on the disk."""

import math
import shutil
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from app.domain.errors import ConfigurationError
from app.observability.metrics import Metrics
from app.settings import Settings

if TYPE_CHECKING:
    from app.observability.trace_export import TraceExport

_PACKAGE = "memory-gateway"


def open_traces(settings: Settings, metrics: Metrics, process: str) -> "TraceExport | None":
    """Begin to trace, and return what has to be closed; None where the settings name no collector.

    Raises:
        ConfigurationError: the packages that export traces are not installed.
    """
    if settings.traces_url is None:
        return None
    try:
        module = import_module("app.observability.trace_export")  # it loads the SDK
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and the packages that export traces are not installed. Install the "
            f"extra traces: pip install '{_PACKAGE}[traces]'."
        ) from error
    export: TraceExport = module.TraceExport(settings, metrics.registry, process=process, version=version(_PACKAGE))
    metrics.upstream.traces = export.traces
    return export


def show_disk(metrics: Metrics, folder: Path) -> None:
    """Show how much room is left where a folder is, or is to be; no number while the disk does not tell."""
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())

    def free() -> float:
        try:
            return shutil.disk_usage(there).free
        except OSError:
            return math.nan

    metrics.budgets.disk(free)
