"""Structured logs: JSON in production, readable on a terminal. Never content, never a credential."""

import json
import logging
import sys
from contextlib import suppress
from typing import Literal, TextIO, cast

import structlog

from app.domain.errors import MemoryGatewayError, Unavailable

_OURS = 500
"""From this status on an error is not the caller's."""

LogFormat = Literal["auto", "json", "text"]


def configure_logging(log_format: LogFormat, level: str) -> None:
    """Send structlog's and the standard library's events to standard error in one form."""
    as_json = log_format == "json" or (log_format == "auto" and not sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if as_json:
        shared.append(structlog.processors.format_exc_info)
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(serializer=_to_json)
        if as_json
        # rich, where it is installed, would show each frame's variables: contents, credentials
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
    logging.getLogger("httpx").setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))  # a line a call


def log_failure(error: MemoryGatewayError) -> None:
    """Log what is not the caller's doing: an outage as a warning, anything else as an error."""
    if isinstance(error, Unavailable):
        structlog.get_logger().warning("unavailable", code=error.code, reason=error.detail)
    elif error.status >= _OURS:
        structlog.get_logger().error("failed", code=error.code, reason=error.detail)


_encode = json.JSONEncoder(default=repr, ensure_ascii=False).encode


def _to_json(event: object, **_: object) -> str:
    """Serialize with one encoder for all events; ``json.dumps`` would make one for each."""
    return _encode(event)


class _Stderr:
    """Standard error, which may be a file on a full disk or a pipe nobody reads: what cannot be written is dropped."""

    def write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()
