"""Operations: operations.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from memory_gateway_client.request import (
    Call,
    asked,
)
from memory_gateway_client.types import Health, Readiness


def healthz(
    _own: str | None,
    /,
) -> Call[Health]:
    """Say that the process is alive."""
    return Call(
        "GET",
        "/healthz",
        Health,
    )


def readyz(
    _own: str | None,
    /,
    *,
    details: str | None = None,
) -> Call[Readiness]:
    """Ask each part about itself: 200 when every one answers but the reranker, which recalls do without, else 503.

    Args:
        details: Whether to tell how the outbox stands, too; this needs the scope ``memory admin``. An empty value is
            ``true``. One of ``, ``true``, ``false``.
    """
    return Call(
        "GET",
        "/readyz",
        Readiness,
        query=asked(details=details),
    )


def metrics(
    _own: str | None,
    /,
) -> Call[str]:
    """Tell what was called, how long it took and what is left of the budget, in Prometheus' text form.

    Only this machine reads them, or who has METRICS_TOKEN, unless METRICS says otherwise.
    """
    return Call(
        "GET",
        "/metrics",
        str,
    )
