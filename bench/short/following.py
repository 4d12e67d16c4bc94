"""Tells what a process does for one request from the work that it does in the background."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FOLLOWED: ContextVar[bool] = ContextVar("followed", default=False)
"""Whether a task is the request's own, or one that it began."""


@contextmanager
def followed() -> Iterator[None]:
    """Follow the request that the block makes."""
    token = _FOLLOWED.set(True)
    try:
        yield
    finally:
        _FOLLOWED.reset(token)


def of_request() -> bool:
    """Tell whether what runs belongs to a request that is followed, as all that other threads do is taken to."""
    return _FOLLOWED.get() or threading.current_thread() is not threading.main_thread()
