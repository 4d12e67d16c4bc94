"""A method that a path does not have is refused with those it has."""

import pytest

from tests.support.envelope_shape import assert_failure
from tests.support.problem_shape import assert_problem
from tests.support.service import Service

IDS = {
    "agent_id": "bot",
    "run_id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
    "name": "house-style",
    "profile": "bot",
    "session_id": "s",
    "blob_id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
    "item_id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
    "archive_id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
    "memory_id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
    "operation_id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
    "credential_id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
    "account_id": "any",
    "namespace_name": "my-app",
    "profile_name": "ann",
    "instance": "worker-1",
    "key": "plan",
    "workflow_id": "w",
    "version": 1,
}


@pytest.fixture
def service(shared_service: Service) -> Service:
    return shared_service


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PATCH", "HEAD"])
async def test_every_documented_path_names_all_its_methods(service: Service, method: str) -> None:
    document = (await service.client.get("/openapi.json")).json()
    assert len(document["paths"]) > 15
    for path, methods in document["paths"].items():
        if method.lower() in methods:
            continue
        answer = await service.client.request(method, path.format(**IDS))
        assert (answer.status_code, answer.headers["allow"]) == (405, ", ".join(sorted(map(str.upper, methods)))), path
        if method != "HEAD" and path.startswith("/client/"):
            assert_failure(answer, 405, 7001)
        elif method != "HEAD":
            problem = assert_problem(answer, 405, "method_not_allowed")
            assert problem["detail"].startswith(
                f"This path takes {' and '.join(sorted(map(str.upper, methods)))}, not "
            )
            assert "/docs" in problem["advice"]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/mcp", "POST"),
        ("/docs", "GET"),
        ("/openapi.json", "GET, HEAD"),
        ("/docs/assets/swagger-ui.css", "GET, HEAD"),
        ("/llms.txt", "GET, HEAD, OPTIONS"),
        ("/.well-known/oauth-protected-resource", "GET, HEAD, OPTIONS"),
        ("/.well-known/oauth-protected-resource/mcp", "GET, HEAD, OPTIONS"),
    ],
)
async def test_every_other_path_names_all_its_methods(service: Service, path: str, allowed: str) -> None:
    answer = await service.client.delete(path)
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


async def test_a_path_that_is_not_there_has_no_methods(service: Service) -> None:
    answer = await service.client.options("/memory")
    assert "/docs" in assert_problem(answer, 404, "no_such_path")["advice"]
    assert "allow" not in answer.headers
