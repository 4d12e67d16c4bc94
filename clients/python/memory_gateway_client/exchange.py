"""What is sent for a call, how often, and how long is waited in between: without sending or waiting itself.

A call is sent again only where that does no harm (``Call.repeatable``), or where no connection was made and so nothing
was sent. And only where it may help: when there is no answer, when the service says by ``Retry-After`` when to come
again, and when something on the way to it has failed. A problem of the service without ``Retry-After`` does not go away
by waiting.
"""

import math
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import httpx

from memory_gateway_client.answers import SERVICE_UNREACHABLE, failures_mapped, understood
from memory_gateway_client.errors import MemoryGatewayError, QuotaExceeded, Unavailable
from memory_gateway_client.request import Call

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.2
_LEAST_SECONDS = 0.01
"""What is left where a pause took longer than it was to: no socket takes less than nothing."""

LASTING = frozenset(
    {
        "cursor_expired",
        "database_lost",
        "model_answer_rejected",
        "quota_exhausted",
        "schema_too_old",
        "upstream_credentials_refused",
        "upstream_rejected",
        "vector_refused",
    }
)
"""The codes of outages that waiting does not end: the service sends them without ``Retry-After``."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


Exchange: TypeAlias = Generator[httpx.Request | Pause, httpx.Response | None, T]
"""Gives requests to send and pauses to make, is sent the responses, is thrown what httpx raises, and returns."""


def exchange(
    call: Call[T],
    build: Callable[[float], httpx.Request],
    *,
    timeout: float,
    retries: int,
    clock: Callable[[], float] = time.monotonic,
) -> Exchange[T]:
    """Carry out a call in ``timeout`` seconds, all that is sent again included, and return its answer.

    ``build`` makes the request, given the seconds that it may wait for the network. While the call may be sent again
    that is half of what is left, so that a lost answer can be asked for once more.

    Raises:
        MemoryGatewayError: what the last of its tries has come to.
    """
    deadline = clock() + timeout
    for tried in range(retries + 1):
        left = max(deadline - clock(), _LEAST_SECONDS)
        last = tried == retries
        try:
            request = build(left if last or not call.repeatable else left / 2)
            with failures_mapped(call, request.url):
                response = yield request
            assert response is not None  # noqa: S101 - a request is answered with a response
            return understood(call, response)
        except MemoryGatewayError as error:
            pause = _pause(error, tried)
            again = call.repeatable or error.code == SERVICE_UNREACHABLE
            if last or pause is None or not again or clock() + pause >= deadline:
                raise
        yield Pause(pause)
    raise AssertionError  # the last try returns or raises


def _pause(error: MemoryGatewayError, tried: int) -> float | None:
    """Return the seconds after which the same may succeed; None where that is not to be expected."""
    if error.retry_after is not None:
        return error.retry_after if isinstance(error, Unavailable | QuotaExceeded) else None
    if isinstance(error, Unavailable) and error.code not in LASTING:
        # By chance, so that clients that failed together do not come again together.
        return math.ldexp(_FIRST_PAUSE_SECONDS, tried) * random.uniform(0.5, 1)  # noqa: S311 - not a secret
    return None
