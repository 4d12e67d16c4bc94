"""URLs over which secrets may be sent."""

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


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
