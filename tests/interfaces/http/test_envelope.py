"""Every error of the tree as Cloudflare writes one, below Cloudflare's paths and nowhere else."""

from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from app.domain.errors import InvalidRequest, MemoryGatewayError, RateLimited, UpstreamTimeout
from app.domain.request_note import RequestNote
from app.interfaces.fields import invalid
from app.interfaces.http.problems import error_response
from app.interfaces.http.schemas import examples
from app.interfaces.request_state import NOTE
from app.services.access.delegation import Delegation
from tests.domain.test_errors import tree
from tests.support.envelope_shape import NAMESPACES, assert_failure, named_fields
from tests.support.problem_shape import assert_problem

CLOUDFLARES = {
    "namespace_exists": 10008,
    "not_found": 1003,
    "blob_gone": 1003,
    "object_gone": 1003,
    "no_such_path": 10003,
    "method_not_allowed": 7001,
    "unauthenticated": 10000,
    "forbidden": 9109,
}
"""Codes that Cloudflare documents, shows in its examples, or was seen to answer."""


def answered(error: MemoryGatewayError, path: str, root_path: str = "") -> httpx.Response:
    state = {"request_id": "request-1", NOTE: RequestNote()}
    shards = SimpleNamespace(main=SimpleNamespace(backends=SimpleNamespace(delegation=Delegation())))
    app = SimpleNamespace(state=SimpleNamespace(shards=shards))
    scope = {"type": "http", "path": root_path + path, "root_path": root_path, "state": state, "app": app}
    made = error_response(error, scope)
    headers = {**made.headers, "x-request-id": "request-1"}
    return httpx.Response(made.status_code, headers=headers, content=bytes(made.body))


@pytest.mark.parametrize("kind", tree().values(), ids=lambda kind: kind.code)
@pytest.mark.parametrize("root_path", ["", "/memory"])
def test_every_error_has_an_envelope_below_cloudflare_s_paths(kind: type[MemoryGatewayError], root_path: str) -> None:
    error = examples.error(kind)
    status = 400 if error.status == 422 else error.status
    errors = assert_failure(answered(error, NAMESPACES, root_path), status, CLOUDFLARES.get(kind.code, 1000 + status))
    assert error.errors or [each["message"] for each in errors] == [error.detail]


def test_it_is_a_problem_on_every_other_path() -> None:
    assert_problem(answered(UpstreamTimeout("slow"), "/recall"), 504, "upstream_timeout")
    assert_problem(answered(UpstreamTimeout("slow"), "/client/v4"), 504, "upstream_timeout")


def test_each_field_that_is_wrong_is_an_error_with_a_pointer_to_it() -> None:
    missing: dict[str, Any] = {"type": "missing", "msg": "Field required"}
    error = invalid([{**missing, "loc": ("body", "messages", 3, "a/b~c")}, {**missing, "loc": ("body", "name")}])
    errors = assert_failure(answered(error, NAMESPACES), 400, 1400)
    assert named_fields(errors) == {"/messages/3/a~1b~0c", "/name"}
    assert isinstance(error, InvalidRequest)


def test_when_to_try_again_stands_in_the_header_as_elsewhere() -> None:
    answer = answered(RateLimited("too many", retry_after=7), NAMESPACES)
    assert_failure(answer, 429, 1429)
    assert answer.headers["retry-after"] == "7"
