"""What an error over MCP tells, and what the SDK logs; the SDK itself is not loaded for it."""

import logging

import structlog

from app.domain.advice import advice
from app.domain.errors import MemoryGatewayError
from app.interfaces.request_state import TRACE_ID


def quiet_sdk() -> None:
    """Log only warnings of the SDK and of its HTTP client: below that level they log whole messages and headers.

    Every request has a log line of ours already.
    """
    level = max(logging.WARNING, logging.getLogger().level)
    for logger in map(logging.getLogger, ("mcp", "httpx2", "httpcore2")):
        if logger.level != level:  # to set it empties the cache of every logger
            logger.setLevel(level)


def error_text(error: MemoryGatewayError) -> str:
    """Return an error's title, detail and advice as text for a model."""
    return f"{error.title}: {error.detail.removesuffix('.')}. {advice(error)}"


def trace() -> dict[str, str]:
    """Return the id of the trace to which the message belongs, for the data of an error; empty without one."""
    known = structlog.contextvars.get_contextvars()
    return {TRACE_ID: known[TRACE_ID]} if TRACE_ID in known else {}
