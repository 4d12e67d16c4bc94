"""Forms of values that settings of several subjects have."""

import re
from typing import Annotated

import httpx
from pydantic import AfterValidator

PRINTABLE = re.compile(r"[!-~]+")
"""What a header can carry as a part of it: visible ASCII."""
_PORTS = range(1, 65536)


def is_base_url(url: str) -> bool:
    """Whether a path can be put behind it: an http or https URL with a host, and no credentials, query or fragment."""
    if not PRINTABLE.fullmatch(url):
        return False
    try:
        read = httpx.URL(url)
        read.host.encode("idna")  # as the resolver will
    except (httpx.InvalidURL, UnicodeError):
        return False
    reachable = read.scheme in {"http", "https"} and read.host and (read.port is None or read.port in _PORTS)
    return bool(reachable and not (read.userinfo or read.query or read.fragment))


def _read_key(value: str | None) -> str | None:
    """Take a key with white space around it; it becomes a part of a header."""
    key = (value or "").strip()
    if key and not PRINTABLE.fullmatch(key):
        raise ValueError("must be printable ASCII without spaces")
    return key or None


def _read_url(value: str) -> str:
    """Take a URL that a path can be put behind."""
    url = value.strip()
    if not is_base_url(url):
        raise ValueError("must be an http or https URL with a host, and no credentials, query or fragment")
    return url


Key = Annotated[str | None, AfterValidator(_read_key)]
BaseUrl = Annotated[str, AfterValidator(_read_url)]
