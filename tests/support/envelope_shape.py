"""The one shape every answer below Cloudflare's paths has."""

from typing import Any

import httpx

ACCOUNT = "0123456789abcdef0123456789abcdef"
NAMESPACES = f"/client/v4/accounts/{ACCOUNT}/agent-memory/namespaces"


def result_of(answer: httpx.Response, status: int = 200) -> Any:
    """Check an answer's envelope and return its result."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    envelope: dict[str, Any] = answer.json()
    assert [name for name in envelope if name != "result_info"] == ["result", "success", "errors", "messages"]
    assert (envelope["success"], envelope["errors"], envelope["messages"]) == (True, [], [])
    return envelope["result"]


def assert_failure(answer: httpx.Response, status: int, code: int) -> list[dict[str, Any]]:
    """Check the envelope of a failure and return its errors."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    envelope: dict[str, Any] = answer.json()
    assert list(envelope) == ["result", "success", "errors", "messages"]
    assert (envelope["result"], envelope["success"], envelope["messages"]) == (None, False, [])
    errors: list[dict[str, Any]] = envelope["errors"]
    assert errors
    assert all(error["code"] == code and error["message"] for error in errors)
    return errors


def named_fields(errors: list[dict[str, Any]]) -> set[str]:
    """Return the fields that a failure names."""
    return {error["source"]["pointer"] for error in errors if "source" in error}
