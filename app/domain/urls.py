"""URLs: whether secrets may be sent over one, and whose it is."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_secure(url: str) -> bool:
    """Tell whether what is sent to a URL stays secret: it is https, or http to this machine itself."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host)))


def authority_of(url: str) -> str | None:
    """Return the host and the port of a URL in lower case; None where it has none, or is malformed."""
    try:
        return urlsplit(url).netloc.lower() or None
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
