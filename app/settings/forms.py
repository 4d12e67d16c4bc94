"""Forms of values that occur in settings of several subjects."""

import re
from typing import Annotated

import httpx
from pydantic import AfterValidator

PRINTABLE = re.compile(r"[!-~]+")
"""A text that can be a part of a header: visible ASCII."""
_PORTS = range(1, 65536)


def is_base_url(url: str) -> bool:
    """Tell whether a path can be put behind a URL.

    The URL has to be http or https, with a host, and without credentials, query and fragment.
    """
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
    """Take a URL behind which a path can be put."""
    url = value.strip()
    if not is_base_url(url):
        raise ValueError("must be an http or https URL with a host, and no credentials, query or fragment")
    return url


Key = Annotated[str | None, AfterValidator(_read_key)]
BaseUrl = Annotated[str, AfterValidator(_read_url)]
