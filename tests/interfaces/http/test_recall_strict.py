"""Who asks for it is answered with the error of the embedder or the index, and with no answer that lacks them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import CredentialsRefused, RateLimited, Unavailable, UpstreamOverloaded, UpstreamTimeout
from app.runtime.backends import Backends
from tests.support.doubles import FailingEmbedder, FailingIndex
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving

HELD = "Ann keeps bees."
OUTAGES: list[tuple[Unavailable, int, str | None]] = [
    (RateLimited("OpenAI answered 429.", retry_after=7), 429, "7"),
    (UpstreamOverloaded("It has too much to do."), 503, "5"),
    (UpstreamTimeout("It did not answer in time."), 504, "1"),
    (CredentialsRefused("It refused the key."), 502, None),
]


@dataclass
class Parts:
    """What can fail, of a service that holds one memory of ``bot``."""

    service: Service
    embedder: FailingEmbedder
    index: FailingIndex

    async def recall(self, query: str, **fields: Any) -> Any:
        return await self.service.post("/recall", {"agent_id": "bot", "query": query, **fields})


@asynccontextmanager
async def failing(data_dir: Path, **settings: Any) -> AsyncIterator[Parts]:
    made: list[tuple[FailingEmbedder, FailingIndex]] = []

    def change(backends: Backends) -> Backends:
        made.append((FailingEmbedder(backends.embedder), FailingIndex(backends.index)))
        return replace(backends, embedder=made[0][0], index=made[0][1])

    async with serving(data_dir, change=change, indexer_seconds=30, **settings) as service:
        await service.store(HELD)
        yield Parts(service, *made[0])


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Parts]:
    async with failing(tmp_path) as parts:
        yield parts


@pytest.fixture
async def set_strict(tmp_path: Path) -> AsyncIterator[Parts]:
    """The same, of an operator who wants strict recalls."""
    async with failing(tmp_path, recall_strict=True) as parts:
        yield parts


@pytest.mark.parametrize(("error", "status", "wait"), OUTAGES, ids=lambda value: getattr(value, "code", None))
@pytest.mark.parametrize("part", ["embedder", "index"])
async def test_a_request_that_is_strict_is_answered_with_the_error_and_when_to_come_again(
    parts: Parts, part: str, error: Unavailable, status: int, wait: str | None
) -> None:
    getattr(parts, part).error = error
    answer = (await parts.recall("What does Ann keep?")).json()
    assert [entry["content"] for entry in answer["entries"]] == [HELD]
    assert answer["degraded"] == [f"{part}_unavailable"]
    answer = await parts.recall("What does Ann keep?", strict=True)
    problem = assert_problem(answer, status, error.code)
    assert problem["detail"] == error.detail
    assert answer.headers.get("retry-after") == wait


@pytest.mark.parametrize(("error", "status", "wait"), OUTAGES, ids=lambda value: getattr(value, "code", None))
@pytest.mark.parametrize("part", ["embedder", "index"])
async def test_where_the_operator_has_set_it_a_request_has_to_say_that_it_is_not_strict(
    set_strict: Parts, part: str, error: Unavailable, status: int, wait: str | None
) -> None:
    getattr(set_strict, part).error = error
    answer = await set_strict.recall("What does Ann keep?")
    assert_problem(answer, status, error.code)
    assert answer.headers.get("retry-after") == wait
    answer = (await set_strict.recall("What does Ann keep?", strict=False)).json()
    assert [entry["content"] for entry in answer["entries"]] == [HELD]
    assert answer["degraded"] == [f"{part}_unavailable"]


@pytest.mark.parametrize("said", [{}, {"strict": False}, {"strict": True}])
async def test_a_strict_recall_that_lacks_nothing_is_the_same_answer(parts: Parts, said: dict[str, Any]) -> None:
    answer = (await parts.recall("What does Ann keep?", **said)).json()
    assert [entry["content"] for entry in answer["entries"]] == [HELD]
    assert "degraded" not in answer


@pytest.mark.parametrize("said", ["true", 1, [True]])
async def test_what_is_no_boolean_is_refused_by_name(parts: Parts, said: Any) -> None:
    problem = assert_problem(await parts.recall("bees", strict=said), 422, "invalid_request")
    assert named_fields(problem) == {"strict"}


async def test_an_explanation_takes_it_too(parts: Parts) -> None:
    (entry,) = (await parts.recall("What does Ann keep?")).json()["entries"]
    body = {"agent_id": "bot", "query": "What does Ann keep?", "memory_id": entry["id"]}
    parts.index.error = RateLimited("Too many calls.", retry_after=7)
    answer = await parts.service.post("/recall/explain", body)
    assert answer.json()["degraded"] == ["index_unavailable"]
    answer = await parts.service.post("/recall/explain", body | {"strict": True})
    assert_problem(answer, 429, "rate_limited")


async def test_what_the_operator_has_set_holds_for_facts_and_profiles(set_strict: Parts) -> None:
    set_strict.embedder.error = RateLimited("OpenAI answered 429.", retry_after=7)
    for path, body in (
        ("/facts/recall", {"agent_id": "bot", "query": "What does Ann keep?"}),
        ("/profiles/bot/recall", {"query": "What does Ann keep?"}),
    ):
        answer = await set_strict.service.post(path, body)
        assert_problem(answer, 429, "rate_limited")
        assert answer.headers["retry-after"] == "7"


async def test_a_context_tells_that_its_long_term_part_is_missing(set_strict: Parts) -> None:
    set_strict.embedder.error = RateLimited("OpenAI answered 429.", retry_after=7)
    body = {"agent_id": "bot", "query": "What does Ann keep?", "prefetch": True, "max_tokens": 1000}
    answer = await set_strict.service.post("/context/assemble", body)
    assert answer.status_code == 200, answer.text
    missing = answer.json()["missing"]
    assert [(each["part"], each["code"]) for each in missing] == [("long_term", "rate_limited")]


async def test_a_tool_fails_with_the_advice_to_wait(set_strict: Parts) -> None:
    set_strict.embedder.error = RateLimited("OpenAI answered 429.", retry_after=7)
    calls = {
        "recall_store": [("recall_memory", {"query": "What does Ann keep?"})],
        "profile": [
            ("recall", {"question": "What does Ann keep?"}),
            ("list", {"about": "bees"}),
            ("forget", {"memory": "Ann keeps bees"}),
        ],
    }
    service = set_strict.service
    for tools, told in calls.items():
        await service.client.put("/agents/bot", json={"tools": tools}, headers=service.credential(admin=True))
        for name, arguments in told:
            answer = await service.mcp("tools/call", {"name": name, "arguments": arguments})
            result = answer.json()["result"]
            assert result["isError"] is True, name
            assert result["_meta"]["code"] == "rate_limited"
            assert result["_meta"]["retry_after"] == 7
            assert "Wait 7 s and try again" in result["content"][0]["text"]
    set_strict.embedder.error = None
    assert await service.contents("What does Ann keep?") == [HELD]  # words have forgotten nothing
