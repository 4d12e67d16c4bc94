"""Decides who reads the metrics: this machine, who has their token, or everyone (ADR 0078)."""

import hmac
from ipaddress import ip_address

from starlette.requests import HTTPConnection

from app.domain.errors import Forbidden, Unauthenticated

_OF_PROXIES = (
    *("forwarded", "via", "x-real-ip", "cf-connecting-ip", "cf-ray", "true-client-ip"),
    *("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port"),
)
"""Headers that proxies add. They open nothing: who sends one is not this machine, whatever it says."""


class MetricsReaders:
    """Who may read the metrics of one application."""

    def __init__(self, *, everyone: bool = False, token: str | None = None) -> None:
        """Let ``everyone`` read, or this machine and who has the ``token``; None: there is no token."""
        self._everyone = everyone
        self._token = token

    def check(self, request: HTTPConnection) -> None:
        """Return where the sender of a request may read the metrics.

        Raises:
            Unauthenticated: the request has another token than that of the metrics.
            Forbidden: it has none, and is not of this machine.
        """
        if self._everyone:
            return
        given = request.headers.get("authorization")
        if self._token is not None and given is not None:
            scheme, _, token = given.partition(" ")
            if scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token.encode()):
                return
            raise Unauthenticated("The metrics are read with METRICS_TOKEN, and this is another token.")
        if not _is_of_this_machine(request):
            raise Forbidden(
                "The metrics are for this machine alone, and no proxy. METRICS_TOKEN lets others read them."
            )


def _is_of_this_machine(request: HTTPConnection) -> bool:
    if request.client is None or any(name in request.headers for name in _OF_PROXIES):
        return False
    try:
        address = ip_address(request.client.host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
