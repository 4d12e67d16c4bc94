"""Reads the parts of Cloudflare's answers beside a result: a refusal, the time until a retry, and the limit's state."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

import httpx
import orjson

from app.adapters.cloudflare.call_budget import WINDOW_SECONDS
from app.domain.moments import milliseconds

_CODE = re.compile(r"[0-9]{1,9}")
_POLICY = re.compile(r'"(?P<policy>[^"]*)"\s*;\s*(?P<figures>[a-z]=\d+(?:\s*;\s*[a-z]=\d+)*)')
_MAX_DIGITS = 6
_FIGURES = {"r": "remaining", "t": "reset_seconds", "q": "quota", "w": "window_seconds"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that Cloudflare refused, and the reason that it gave."""

    status: int
    code: int
    message: str


def read_figures(header: str) -> Iterator[tuple[str, str, int]]:
    """Read ``"default";r=50;t=30``: the policy's name, and each figure's name and value."""
    for match in _POLICY.finditer(header):
        for part in match["figures"].split(";"):
            letter, _, value = part.strip().partition("=")
            if letter in _FIGURES and len(value) <= _MAX_DIGITS:
                yield match["policy"], _FIGURES[letter], int(value)


def read_refusal(response: httpx.Response) -> Refusal:
    """Read the v4 envelope's first error, or the ``{code, error}`` or OpenAI's form that some endpoints answer."""
    try:
        body = orjson.loads(response.content)
    except orjson.JSONDecodeError:  # an intermediate edge answers in HTML
        body = None
    errors = body.get("errors") if isinstance(body, dict) else None
    first = errors[0] if isinstance(errors, list) and errors else body
    if not isinstance(first, dict):
        return Refusal(response.status_code, 0, "no reason given")
    if isinstance(compatible := first.get("error"), dict):
        first = {**compatible, "code": _number(compatible.get("code"))}
    code = first.get("code")
    message = str(first.get("message") or first.get("error") or "no reason given")
    return Refusal(response.status_code, code if isinstance(code, int) else 0, message)


def _number(code: object) -> int:
    """Read a code, which OpenAI's form has as text."""
    return int(str(code)) if _CODE.fullmatch(str(code)) else 0


def read_retry_after(retry_after: str | None) -> int:
    """Read how long a block lasts: at least a second, and at most the window of Cloudflare's limit."""
    value = retry_after or ""
    longest = int(WINDOW_SECONDS)
    return max(1, min(int(value), longest)) if value.isdecimal() and len(value) <= _MAX_DIGITS else longest


def read_moment(response: httpx.Response) -> int | None:
    """Return the response's ``Date`` in milliseconds; None where it is absent or malformed."""
    try:
        date = parsedate_to_datetime(response.headers.get("date", ""))
    except (ValueError, OverflowError):
        return None
    return milliseconds(date if date.tzinfo is not None else date.replace(tzinfo=UTC))
