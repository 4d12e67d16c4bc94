"""Who writes the name of another product's field is told which of ours is meant."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.interfaces.hints import HINTS
from tests.support.problem_shape import assert_problem
from tests.support.service import Service, serving

TEXT = {"agent_id": "bot", "content": "Ann likes tea"}
ASKED = {"agent_id": "bot", "query": "tea"}


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with serving(tmp_path_factory.mktemp("data")) as service:
        yield service


@pytest.mark.parametrize(
    ("path", "body", "field", "meant"),
    [
        ("/store", {"user_id": "ann", "content": "x"}, "user_id", "`agent_id`, one for each user"),
        ("/store", {"agent_id": "bot", "text": "x"}, "text", "`content`"),
        ("/store", {"agent_id": "bot", "messages": [{"role": "user", "content": "x"}]}, "messages", "/ingest`"),
        ("/store", {"agent_id": "bot", "memory": "x"}, "memory", "`content`"),
        ("/store", TEXT | {"query": "x"}, "query", "`POST /recall`"),
        ("/store", TEXT | {"timestamp": "2026-01-01T00:00:00Z"}, "timestamp", "`occurred_at`"),
        ("/store", TEXT | {"ttl": 3}, "ttl", "`expires_at`"),
        ("/store", TEXT | {"tags": ["x"]}, "tags", "`metadata`"),
        ("/recall", ASKED | {"limit": 3}, "limit", "`top_k`"),
        ("/recall", ASKED | {"user_id": "ann"}, "user_id", "`agent_id`"),
        ("/recall", ASKED | {"filters": {}}, "filters", "`filter`"),
        ("/recall", ASKED | {"threshold": 0.3}, "threshold", "`min_score`"),
        ("/recall", ASKED | {"topK": 3}, "topK", "it is written `top_k`"),
        ("/recall", ASKED | {"tenant_id": "globex"}, "tenant_id", "comes with the credential"),
        (
            "/profiles/bot/ingest",
            {"messages": [{"role": "user", "content": "x", "text": "y"}]},
            "messages.0.text",
            "`content`",
        ),
        ("/profiles/bot/ingest", {"messages": [], "user_id": "ann"}, "user_id", "`agent_id`"),
        ("/profiles/bot/recall", {"query": "x", "limit": 3}, "limit", "`top_k`"),
        ("/profiles/bot/recall", {"query": "x", "sessionId": "s"}, "sessionId", "it is written `session_id`"),
        ("/recall?user_id=ann", ASKED, "user_id", "`agent_id`"),
    ],
)
async def test_a_field_of_another_product_is_answered_with_ours(
    service: Service, path: str, body: dict[str, Any], field: str, meant: str
) -> None:
    problem = assert_problem(await service.post(path, body), 422, "invalid_request")
    (message,) = [each["message"] for each in problem["errors"] if each["field"] == field]
    assert meant in message
    assert message in problem["detail"] or "?" in path


@pytest.mark.parametrize(
    ("tool", "arguments", "meant"),
    [
        ("store_memory", {"content": "x", "user_id": "ann"}, "`agent_id`"),
        ("recall_memory", {"query": "x", "limit": 3}, "`top_k`"),
        ("store_memory", {"text": "x"}, "`content`"),
    ],
)
async def test_a_model_is_told_too(service: Service, tool: str, arguments: dict[str, Any], meant: str) -> None:
    answer = await service.mcp("tools/call", {"name": tool, "arguments": arguments})
    assert meant in answer.text


async def test_a_listing_tells_it_of_its_parameters(service: Service) -> None:
    headers = service.credential(admin=True)
    answer = await service.client.get("/memories?top_k=3&page=2", headers=headers)
    errors = {each["field"]: each["message"] for each in assert_problem(answer, 422, "invalid_request")["errors"]}
    assert "`limit`" in errors["top_k"]
    assert "`cursor`" in errors["page"]


async def test_a_name_that_nobody_knows_gets_no_hint_and_is_not_repeated_at_length(service: Service) -> None:
    for name in ("zzz", "x" * 500, "constructor", "__class__", ""):
        problem = assert_problem(await service.post("/store", TEXT | {name: 1}), 422, "invalid_request")
        assert [each["message"] for each in problem["errors"]] == ["is not a field of this request"]


def test_every_hint_names_a_field_a_call_or_a_page(tmp_path: Path) -> None:
    del tmp_path
    assert [
        name for name, meant in HINTS.items() if "`" not in meant and "docs/" not in meant and "credential" not in meant
    ] == []
