"""Cloudflare's side of single calls: what it answers, and a client whose clock a test turns."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

ACCOUNT_ID = "account-1"
ACCOUNT = f"https://api.cloudflare.com/client/v4/accounts/{ACCOUNT_ID}"
TOKEN = "cf-token-0123456789"
TLS = httpx.create_ssl_context()
DATE = "Fri, 20 Nov 2026 10:00:00 GMT"
DATE_MS = 1_795_168_800_000


@dataclass
class Clock:
    """A monotonic clock that stands still until it is moved."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def answer(result: Any = None, *, date: str | None = DATE, **more: Any) -> httpx.Response:
    """A call that was done, in the v4 envelope."""
    body = {"success": True, "errors": [], "messages": [], "result": result, **more}
    return httpx.Response(200, json=body, headers={} if date is None else {"Date": date})


def refusal(status: int, code: int = 1000, message: str = "refused", **headers: str) -> httpx.Response:
    """A call that was not done, in the v4 envelope; underscores in a header's name stand for hyphens."""
    body = {"success": False, "errors": [{"code": code, "message": message}], "messages": [], "result": None}
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


def html(status: int) -> httpx.Response:
    """What an edge in between answers."""
    return httpx.Response(status, html="<html><body><h1>Bad gateway</h1></body></html>")


def body_of(call: Any) -> Any:
    """The JSON that a call sent."""
    assert call.request.headers["content-type"] == "application/json"
    return json.loads(call.request.content)
