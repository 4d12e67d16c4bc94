"""The pages of facts, workflows and runs."""

from typing import Any

from app.runtime.recall_log import write_recalls
from tests.interfaces.console.browser import browsing
from tests.support.service import Service

RUN = "01JA0000000000000000000000"
HOSTILE = "<script>alert(1)</script>"


async def learn(service: Service, object_: str, **fields: Any) -> None:
    fact = {"agent_id": "bot", "subject": "Anna", "predicate": "lives in", "object": object_, "single": True}
    answer = await service.post("/facts", fact | fields)
    assert answer.status_code == 201, answer.text


async def begun(service: Service, *, run_id: str = RUN, agent_id: str = "bot") -> None:
    run = {"run_id": run_id, "agent_id": agent_id, "agent_type": "clerk", "input": {"order": HOSTILE}}
    answer = await service.post("/runs", run)
    assert answer.status_code == 201, answer.text


async def workflow(service: Service, id_: str) -> None:
    body = {"agent_type": "clerk", "task_type": "refund", "spec": {"steps": [HOSTILE]}}
    answer = await service.client.put(f"/workflows/{id_}", json=body, headers=service.credential(admin=True))
    assert answer.status_code == 200, answer.text


async def test_facts_are_shown_as_they_hold_and_with_history_as_they_held(service: Service) -> None:
    await learn(service, "Oslo")
    service.later(60)
    await learn(service, "Bergen")
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/facts")
        assert ("Bergen" in page.text, "Oslo" in page.text) == (True, False)
        page = await browser.send(page.form("/facts"), history="1")
        assert "Oslo until" in page.text
        assert (await browser.open(page.link("/memories/0"))).status == 200
        page = await browser.send(page.form("/facts"), subject="Berta")
        assert "No fact matches the filter" in page.text


async def test_a_memory_of_the_kind_fact_that_was_not_told_as_one_is_said_to_be_elsewhere(service: Service) -> None:
    await service.store("Ann lives in Oslo.", occurred_at="2026-01-31T09:30:07Z")
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/facts")
        assert "The agent was told no facts yet." in page.text
        page = await browser.open(page.labelled("Memories of the kind fact"))
        assert page.form("/memories").fields["type"] == "fact"


async def test_a_run_shows_the_texts_of_the_memories_that_it_was_given(service: Service) -> None:
    await service.store("Ann drinks green tea.")
    await begun(service)
    await service.post("/recall", {"agent_id": "bot", "query": "tea", "run_id": RUN})
    await write_recalls(service.runtime.backends)
    async with browsing(service, agent="bot") as browser:
        page = await browser.open(f"/console/runs/{RUN}")
        assert "It was given 1 memory." in page.text
        page = await browser.open(page.labelled("Ann drinks green tea."))
        assert page.path.startswith("/console/memories/")


async def test_a_fact_of_markup_is_shown_as_text(service: Service) -> None:
    await learn(service, HOSTILE)
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/facts")
    assert "script" not in {name for name, _ in page.tags}
    assert HOSTILE in page.text


async def test_a_field_of_a_filter_that_has_not_its_form_is_named_beside_the_form(service: Service) -> None:
    async with browsing(service, agent="bot") as browser:
        page = await browser.open(f"/console/facts?subject={'x' * 10_000}")
        assert (page.status, "Subject has" in page.text or "Subject must" in page.text) == (422, True)
        page = await browser.open("/console/runs?started_after=yesterday")
        assert (page.status, "Begun after must" in page.text) == (422, True)
        page = await browser.open(f"/console/workflows?agent_type={'x' * 10_000}")
        assert (page.status, "Type of agent has" in page.text or "Type of agent must" in page.text) == (422, True)


async def test_workflows_are_shown_by_task_with_their_means_their_texts_and_a_picture(service: Service) -> None:
    await workflow(service, "careful")
    await workflow(service, "quick")
    await begun(service)
    await service.post("/workflows/quick/outcome", {"run_id": RUN, "score": 1.0})
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/workflows")
        assert "refund by clerk" in page.text
        assert page.text.index("quick") < page.text.index("careful")
        (picture,) = [given["src"] for name, given in page.tags if name == "img"]
        answer = await browser.client.get(picture)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
        page = await browser.open(page.link("/workflows/quick"))
        assert "script" not in {name for name, _ in page.tags}
        assert "alert(1)" in page.text


async def test_a_run_is_replayed_step_by_step(service: Service) -> None:
    await begun(service)
    await service.post(
        f"/runs/{RUN}/episodes", {"episodes": [{"type": "note", "content": HOSTILE, "data": {"amount": 12}}]}
    )
    call = {"call_id": "01JA0000000000000000000001", "tool": "refund", "outcome": "error", "error": "no such order"}
    audited = await service.post(f"/runs/{RUN}/audit", {"calls": [call | {"input": {"order": 7}, "ms": 12}]})
    assert audited.status_code == 201, audited.text
    await service.post(f"/runs/{RUN}/fail", {"error": "gave up"})
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/runs")
        page = await browser.open(page.link(f"/runs/{RUN}"))
        told = ["begun", "amount", "refund", "no such order", "gave up"]
        assert [word for word in told if word not in page.text] == []
        assert "script" not in {name for name, _ in page.tags}
        assert HOSTILE in page.text


async def test_a_run_of_another_agent_or_another_tenant_is_not_there(service: Service) -> None:
    await begun(service, agent_id="other")
    async with browsing(service, agent="bot") as browser:
        assert RUN not in (await browser.open("/console/runs")).text
        assert (await browser.open(f"/console/runs/{RUN}")).status == 404
        assert (await browser.open("/console/runs/odd%20id")).status == 422
    async with browsing(service, "rival", admin=True) as browser:
        assert RUN not in (await browser.open("/console/runs")).text
        assert (await browser.open(f"/console/runs/{RUN}")).status == 404


async def test_an_administrator_sees_of_workflows_what_the_agent_that_was_picked_has_learned(service: Service) -> None:
    await workflow(service, "quick")
    await begun(service)
    await service.post("/workflows/quick/outcome", {"run_id": RUN, "score": 1.0}, agent="bot")
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/workflows?agent=bot")
        assert "quick 67 %" in page.text
        page = await browser.open("/console/workflows?agent=other")
        assert "quick 50 %" in page.text
