"""The one shape every error has."""

from typing import Any

import httpx


def assert_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check a problem's shape, status and code, and return it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert [name for name in problem if name != "trace_id"] == [
        "type",
        "title",
        "status",
        "detail",
        "code",
        "advice",
        "request_id",
        "errors",
    ]
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["type"] == f"urn:memory-gateway:problem:{code}"
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert problem["title"]
    assert problem["detail"]
    assert problem["advice"].endswith(".")
    assert all(list(field) == ["field", "message"] for field in problem["errors"])
    return problem


def named_fields(problem: dict[str, Any]) -> set[str]:
    """Return the fields a problem names."""
    return {field["field"] for field in problem["errors"]}
