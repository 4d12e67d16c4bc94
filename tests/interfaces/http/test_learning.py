"""What a language model learns of a conversation over HTTP: told by the operation, retried, and shown beforehand."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import UpstreamUnavailable
from app.services.ingest import dry_run
from app.services.models import model_calls
from tests.services.believing_reader import BelievingReader
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.scripted_model import ScriptedModel, at_once, failing, memory
from tests.support.service import Service, serving
from tests.support.tables import count_of

SAID = [{"role": "user", "content": "I moved to Oslo"}, {"role": "user", "content": "I like tea"}]
NEVER = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
async def service(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Service]:
    monkeypatch.setattr(model_calls, "_FIRST_PAUSE", 0.01)
    async with serving(tmp_path) as service:
        service.runtime.backends = replace(service.runtime.backends, model=model, reader=BelievingReader())
        yield service


async def ingest(service: Service, *messages: Any, query: str = "") -> Any:
    body = {"messages": list(messages or SAID), "session_id": "s"}
    answer = await service.post(f"/profiles/bot/ingest{query}", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def ended(service: Service, operation_id: str) -> Any:
    async with asyncio.timeout(30):
        while True:
            answer = await service.client.get(
                f"/profiles/bot/operations/{operation_id}", headers=service.credential(agent="bot")
            )
            if (body := answer.json())["status"] != "running":
                return body
            await asyncio.sleep(0.01)


async def retried(service: Service, operation_id: str, **caller: Any) -> Any:
    path = f"/profiles/bot/operations/{operation_id}/retry"
    return await service.client.post(path, headers=service.credential(**caller))


async def test_the_operation_tells_what_was_learned_and_what_was_dropped(
    service: Service, model: ScriptedModel
) -> None:
    model.answers = {
        "extract": lambda _: {
            "memories": [memory("The user moved to Oslo", 1), memory("The user paid 4711 dollars", 2)],
        }
    }
    body = await ingest(service)
    assert (body["stored"], "learning" in body) == (2, False)
    learning = (await ended(service, body["operation_id"]))["learning"]
    assert learning["status"] == "done"
    assert learning["passes"] == {"done": 1, "failed": 0, "waiting": 0}
    assert (learning["proposals"]["learned"], learning["proposals"]["dropped"]) == (1, 1)
    (learned,), (dropped,) = learning["learned"], learning["dropped"]
    assert learned["content"] == "The user moved to Oslo"
    assert learned["message_ids"] == [body["messages"][0]["id"]]
    assert "4711" in dropped["reason"]


async def test_a_retry_is_answered_with_the_operation_and_finishes_what_failed(
    service: Service, model: ScriptedModel
) -> None:
    model.answers = {"extract": failing(at_once(UpstreamUnavailable("It is down.")))}
    id_ = (await ingest(service))["operation_id"]
    learning = (await ended(service, id_))["learning"]
    assert learning["status"] == "failed"
    assert [each["code"] for each in learning["unread"]] == ["upstream_unavailable"]
    model.answers = {}
    answer = await retried(service, id_)
    assert (answer.status_code, answer.headers["location"]) == (202, f"/profiles/bot/operations/{id_}")
    learning = (await ended(service, id_))["learning"]
    assert (learning["status"], learning["proposals"]["learned"], learning["unread"]) == ("done", 2, [])
    assert (await retried(service, id_)).status_code == 200


async def test_what_is_not_there_is_running_or_another_agents_is_not_tried_again(
    service: Service, model: ScriptedModel
) -> None:
    assert_problem(await retried(service, NEVER), 404, "not_found")
    assert_problem(await retried(service, "x"), 422, "invalid_request")
    model.seconds = 0.5
    id_ = (await ingest(service))["operation_id"]
    assert_problem(await retried(service, id_), 409, "operation_running")
    assert_problem(await retried(service, id_, agent="other"), 403, "forbidden")
    assert_problem(await retried(service, id_, tenant="globex"), 404, "not_found")
    await ended(service, id_)


async def test_a_dry_run_shows_all_of_it_and_writes_nothing(service: Service) -> None:
    shown = await ingest(service, query="?dry_run=true")
    assert (shown["dry_run"], shown["stored"], "operation_id" in shown) == (True, 2, False)
    assert [each["content"] for each in shown["learning"]["learned"]] == ["The user moved to Oslo", "The user like tea"]
    for table in ("long_term_memory", "message", "ingestion", "pass", "proposal", "audit", "outbox", "usage"):
        assert await count_of(service, table) == 0, table
    stored = await ingest(service)
    learned = (await ended(service, stored["operation_id"]))["learning"]["learned"]
    assert {each["content"] for each in learned} == {each["content"] for each in shown["learning"]["learned"]}
    again = await ingest(service, query="?dry_run=true")
    assert (again["known"], again["learning"]["learned"]) == (2, [])


async def test_a_dry_run_refuses_what_it_could_not_answer_in_time(
    service: Service, monkeypatch: pytest.MonkeyPatch, model: ScriptedModel
) -> None:
    monkeypatch.setattr(dry_run, "MAX_PASSES", 2)
    long = [{"role": "user", "content": f"{number} " + "word " * 2500} for number in range(3)]
    body = {"messages": long, "session_id": "s"}
    problem = assert_problem(await service.post("/profiles/bot/ingest?dry_run=true", body), 422, "invalid_request")
    assert named_fields(problem) == {"messages"}
    assert model.calls.total() == 0
    monkeypatch.setattr(dry_run, "SECONDS", 0.2)
    model.seconds = 5.0
    shown = await ingest(service, query="?dry_run=true")
    assert [each["code"] for each in shown["learning"]["unread"]] == ["upstream_timeout"]


@pytest.mark.parametrize("query", ["?dry_run=perhaps", "?dry_run=true&dry_run=true", "?dry=true", "?dry_run=true&x=1"])
async def test_another_parameter_is_refused_and_nothing_is_stored(shared_service: Service, query: str) -> None:
    answer = await shared_service.post(f"/profiles/bot/ingest{query}", {"messages": SAID})
    assert answer.status_code == 422
    assert await shared_service.recall("Oslo") == []
