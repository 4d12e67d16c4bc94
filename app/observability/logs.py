"""Writes structured logs, as JSON or readable on a terminal; they contain neither content nor credentials."""

import json
import logging
import os
import sys
from contextlib import suppress
from typing import Literal, TextIO, cast

import structlog

from app.domain.errors import MemoryGatewayError, Unavailable

_OURS = 500
"""The lowest status of errors that the caller has not caused."""

LogFormat = Literal["auto", "json", "text"]


def configure_logging(log_format: LogFormat, level: str, *, worker: bool = False) -> None:
    """Send the events of structlog and of the standard library to standard error, in one format.

    The events of a ``worker`` bear its process id.
    """
    as_json = log_format == "json" or (log_format == "auto" and not sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if worker:
        shared.append(_with_process_id)
    if as_json:
        shared.append(structlog.processors.format_exc_info)
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(serializer=_to_json)
        if as_json
        # rich, where it is installed, would print the variables of each frame, with content and credentials
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _Stderr())),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.getLogger("httpx").setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))  # one line per call


def log_failure(error: MemoryGatewayError) -> None:
    """Log an error that the caller has not caused: an outage as a warning, any other as an error."""
    if isinstance(error, Unavailable):
        structlog.get_logger().warning("unavailable", code=error.code, reason=error.detail)
    elif error.status >= _OURS:
        structlog.get_logger().error("failed", code=error.code, reason=error.detail)


def _with_process_id(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    event.setdefault("pid", os.getpid())
    return event


_encode = json.JSONEncoder(default=repr, ensure_ascii=False).encode


def _to_json(event: object, **_: object) -> str:
    """Serialize with one encoder for all events; ``json.dumps`` would create one for each."""
    return _encode(event)


class _Stderr:
    """Writes to standard error, and drops text that cannot be written, as to a full disk or to a closed pipe."""

    def write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()
