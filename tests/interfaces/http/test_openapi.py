"""The OpenAPI document tells the truth, and the page that shows it needs no other host."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest

from tests.support.service import Service

AGENT_MEMORY = {
    *("namespace_create", "namespace_list", "namespace_get", "namespace_delete", "profile_delete", "session_delete"),
    *("ingest", "remember", "recall", "memory_list", "memory_get", "memory_delete", "summary"),
}
"""As Cloudflare's own document calls them."""


@pytest.fixture
def service(shared_service: Service) -> Service:
    return shared_service


async def test_every_route_says_how_it_fails_in_the_one_shape(service: Service) -> None:
    document = (await service.client.get("/openapi.json")).json()
    for path, methods in document["paths"].items():
        for operation in methods.values():
            failures = {status: answer for status, answer in operation["responses"].items() if int(status) >= 400}
            assert failures, path
            for status, answer in failures.items():
                if (path, status) != ("/readyz", "503"):
                    shape = "application/json" if path.startswith("/client/v4/") else "application/problem+json"
                    assert list(answer["content"]) == [shape], (path, status)


async def test_operations_have_plain_ids(service: Service) -> None:
    document = (await service.client.get("/openapi.json")).json()
    ids = {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}
    agents, operators = {"store", "recall"}, {"healthz", "readyz", "metrics"}
    looks_after = {
        "explain",
        "list_memories",
        "credentials",
        "mint_credential",
        "revoke_credential",
        "get_memory",
        "usage",
        "get_agent",
        "set_agent",
        "export",
        "import",
        "list_tools",
    }
    of_cloudflare = {f"agent_memory_{name}" for name in AGENT_MEMORY}
    assert ids == agents | operators | looks_after | of_cloudflare | {
        "explain",
        "delete_memory",
        "change_memory",
        "delete_memories",
        "list_agents",
        "erase_agent",
        "erase_tenant",
        "operation",
        "undo",
        "undo_learned",
        *("consolidations", "consolidation_dry_run", "undo_consolidation"),
        *("put_blob", "list_blobs", "get_blob", "delete_blob"),
        "ingest",
        "ingestion",
        "retry",
        "remember",
        "recall_profile",
        "list_profile",
        "get_profile_memory",
        "forget",
        "unforget",
        "summary",
        "delete_session",
        *("start_run", "runs", "get_run", "append_episode", "complete_run", "fail_run", "episodes"),
        *("learn", "recall_facts", "facts"),
        *("set_working", "get_working", "list_working", "delete_working", "append_messages", "window"),
        *("set_turn_state", "get_turn_state", "append_run_log", "run_log"),
        *(
            "put_workflow",
            "get_workflow",
            "delete_workflow",
            "workflow_versions",
            "workflow_version",
            "restore_workflow",
            "workflows",
            "workflows_picture",
        ),
        *("select_workflow", "record_outcome"),
        *("audit_run", "replay_run", "audit", "acts", "export_acts"),
        *("list_archive", "get_archived", "restore_archived"),
        "assemble_context",
        *("list_context", "context_versions", "get_context", "put_context", "delete_context"),
        *("get_configuration", "put_configuration"),
    }


async def test_the_page_asks_no_other_host(service: Service) -> None:
    page = (await service.client.get("/docs")).text
    links = re.findall(r"""(?:href|src|url)\s*[=:]\s*["']([^"']+)""", page)
    assert len(links) >= 4
    for link in links:
        assert link.startswith("/"), link
        assert (await service.client.get(link)).status_code == 200, link


async def test_the_page_runs_its_own_scripts_alone_and_keeps_no_credential(service: Service) -> None:
    answer = await service.client.get("/docs")
    policy = answer.headers["content-security-policy"]
    (script,) = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "persistAuthorization" not in script


async def test_no_two_schemas_have_one_name(service: Service) -> None:
    document = (await service.client.get("/openapi.json")).json()
    assert [name for name in document["components"]["schemas"] if "__" in name] == []


async def test_the_document_names_the_bearer_token_that_every_closed_operation_takes(shared_service: Service) -> None:
    document = (await shared_service.client.get("/openapi.json")).json()
    (scheme,) = document["components"]["securitySchemes"].items()
    assert (scheme[0], scheme[1]["type"], scheme[1]["scheme"]) == ("credential", "http", "bearer")
    assert "access token of the issuer" in scheme[1]["description"]
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    closed = [operation["security"] for operation in operations if "security" in operation]
    assert len(closed) > 50
    assert {name for security in closed for way in security for name in way} == {"credential"}
