"""The routes of facts: learned, recalled and listed."""

from typing import Any

import httpx
import pytest

from tests.support.problem_shape import assert_problem
from tests.support.service import Service

RUN, OTHERS_RUN = "01K2Z7A1B2C3D4E5F6G7H8J9KM", "01K2Z7A1B2C3D4E5F6G7H8J9KN"
FACT = {"agent_id": "bot", "subject": "user", "predicate": "lives in", "object": "Oslo"}


async def learn(service: Service, **fields: Any) -> httpx.Response:
    return await service.post("/facts", FACT | fields)


async def listed(service: Service, **asked: Any) -> httpx.Response:
    return await service.client.get("/facts", params={"agent_id": "bot"} | asked, headers=service.credential())


async def begin(service: Service, run_id: str = RUN, tenant: str = "acme", agent_id: str = "bot") -> None:
    body = {"run_id": run_id, "agent_id": agent_id, "agent_type": "support", "input": None, "episodes": 0}
    answer = await service.post("/runs", body, tenant=tenant)
    assert answer.status_code < 300, answer.text


async def test_a_fact_is_learned_recalled_and_listed_with_the_run_that_it_was_learned_from(service: Service) -> None:
    await begin(service)
    told = {"confidence": 0.75, "learned_from_run_id": RUN, "fact_id": "home", "occurred_at": "2026-01-31T09:30:00Z"}
    answer = await learn(service, **told)
    assert answer.status_code == 201, answer.text
    parts = {"subject": "user", "predicate": "lives in", "object": "Oslo", "fact_id": "home"}
    memory_id = answer.json()["memory_id"]
    assert answer.json() == {**parts, "memory_id": memory_id, "holds": True}
    known = {**parts, "memory_id": memory_id, "content": "user lives in - Oslo", "confidence": 0.75}
    known |= {"learned_from_run_id": RUN}
    (fact,) = (await listed(service)).json()["facts"]
    assert fact == {**known, "since": "2026-01-31T09:30:00.000Z", "holds": True}
    found = await service.post("/facts/recall", {"agent_id": "bot", "query": "Where does the user live?"})
    (entry,) = found.json()["entries"]
    assert entry == {
        **known,
        "score": entry["score"],
        "created_at": entry["created_at"],
        "occurred_at": "2026-01-31T09:30:00.000Z",
    }
    run = await service.client.get(f"/runs/{fact['learned_from_run_id']}", headers=service.credential())
    assert (run.status_code, run.json()["run_id"]) == (200, RUN)


async def test_the_later_fact_holds_and_a_doubtful_one_where_nothing_sure_does(service: Service) -> None:
    doubtful = (await learn(service, object="Lima", confidence=0.49, single=True)).json()
    assert doubtful["holds"]
    first = (await learn(service, single=True)).json()
    then = (await learn(service, object="Bergen", confidence=0.5, single=True)).json()
    assert (first["holds"], then["holds"]) == (True, True)
    again = (await learn(service, object="Lima", confidence=0.49, single=True)).json()
    assert again == doubtful | {"holds": False}
    (fact,) = (await listed(service)).json()["facts"]
    assert (fact["object"], fact["holds"]) == ("Bergen", True)
    history = (await listed(service, history="true")).json()["facts"]
    assert [(each["object"], each["holds"]) for each in history] == [("Bergen", True), ("Oslo", False), ("Lima", False)]
    assert [("until" in each) for each in history] == [False, True, False]
    found = (await service.post("/facts/recall", {"agent_id": "bot", "query": "user", "subject": "user"})).json()
    assert [each["object"] for each in found["entries"]] == ["Bergen"]
    assert {"Perhaps user lives in - Lima", "user lives in - Bergen"} == {*await service.contents("user lives")}


async def test_what_agents_of_a_type_share_is_apart_from_what_each_knows(service: Service) -> None:
    shared = {"agent_id": None, "agent_type": "support"}
    body = {name: value for name, value in (FACT | shared).items() if value is not None}
    assert (await service.post("/facts", body)).status_code == 201
    assert (await listed(service)).json() == {"facts": []}
    headers = service.credential()
    theirs = (await service.client.get("/facts", params={"agent_type": "support"}, headers=headers)).json()["facts"]
    assert [(each["object"], each["agent_type"]) for each in theirs] == [("Oslo", "support")]
    found = (await service.post("/facts/recall", {"agent_type": "support", "query": "Oslo"})).json()["entries"]
    assert [each["object"] for each in found] == ["Oslo"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"subject": ""}, "subject"),
        ({"subject": " \n"}, "subject"),
        ({"subject": "x" * 257}, "subject"),
        ({"subject": 1}, "subject"),
        ({"predicate": ""}, "predicate"),
        ({"predicate": "\u00e5" * 129}, "predicate"),
        ({"object": ""}, "object"),
        ({"object": "a\0"}, "object"),
        ({"object": "x" * 1025}, "object"),
        ({"confidence": 1.5}, "confidence"),
        ({"confidence": -0.1}, "confidence"),
        ({"confidence": True}, "confidence"),
        ({"confidence": "0.5"}, "confidence"),
        ({"agent_id": "a b"}, "agent_id"),
        ({"agent_type": "a/b"}, "agent_type"),
        ({"learned_from_run_id": "run"}, "learned_from_run_id"),
        ({"fact_id": ""}, "fact_id"),
        ({"fact_id": "x" * 65}, "fact_id"),
        ({"occurred_at": "yesterday"}, "occurred_at"),
        ({"more": 1}, "more"),
    ],
)
async def test_what_is_no_fact_is_refused_by_name(shared_service: Service, wrong: dict[str, Any], field: str) -> None:
    problem = assert_problem(await learn(shared_service, **wrong), 422, "invalid_request")
    assert [each["field"] for each in problem["errors"]] == [field]
    assert (await listed(shared_service, history="true")).json() == {"facts": []}


async def test_a_fact_as_long_as_one_may_be_is_learned(service: Service) -> None:
    longest = {"subject": "x" * 256, "predicate": "\u00e5" * 128, "object": "y" * 1024, "fact_id": "!" * 64}
    assert (await learn(service, **longest, confidence=0)).status_code == 201
    assert (await learn(service, **longest, confidence=1)).status_code == 201
    facts = (await listed(service, subject=longest["subject"], predicate=longest["predicate"])).json()["facts"]
    assert [(each["object"], each["confidence"]) for each in facts] == [("y" * 1024, 1)]


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity"])
async def test_a_confidence_that_is_no_number_is_refused(shared_service: Service, number: str) -> None:
    body = f'{{"agent_id": "bot", "subject": "a", "predicate": "b", "object": "c", "confidence": {number}}}'
    headers = shared_service.credential() | {"Content-Type": "application/json"}
    problem = assert_problem(
        await shared_service.client.post("/facts", content=body, headers=headers), 422, "invalid_request"
    )
    assert [each["field"] for each in problem["errors"]] == ["confidence"]


async def test_a_run_that_the_caller_does_not_have_is_not_found(service: Service) -> None:
    await begin(service, OTHERS_RUN, tenant="other")
    for run_id in (RUN, OTHERS_RUN):
        assert_problem(await learn(service, learned_from_run_id=run_id), 404, "not_found")
    await begin(service, agent_id="another")
    bound = service.credential(agent="bot")
    answer = await service.client.post("/facts", json={**FACT, "learned_from_run_id": RUN}, headers=bound)
    assert_problem(answer, 404, "not_found")
    assert (await listed(service, history="true")).json() == {"facts": []}
    assert (await learn(service, learned_from_run_id=RUN)).status_code == 201


async def test_one_of_agent_and_type_is_to_be_named_and_to_be_the_callers(service: Service) -> None:
    nobody = {name: value for name, value in FACT.items() if name != "agent_id"}
    headers = service.credential()
    for answer in (
        await service.post("/facts", nobody),
        await service.post("/facts/recall", {"query": "Oslo"}),
        await service.client.get("/facts", headers=headers),
    ):
        problem = assert_problem(answer, 422, "invalid_request")
        assert [each["field"] for each in problem["errors"]] == ["agent_id", "agent_type"]
    bound = service.credential(agent="another")
    for whose in ({"agent_id": "bot"}, {"agent_type": "support"}):
        for answer in (
            await service.client.post("/facts", json=nobody | whose, headers=bound),
            await service.client.post("/facts/recall", json={"query": "Oslo"} | whose, headers=bound),
            await service.client.get("/facts", params=whose, headers=bound),
        ):
            assert_problem(answer, 403, "forbidden")


async def test_pages_go_on_with_their_cursor_which_no_other_listing_takes(service: Service) -> None:
    for number in range(5):
        await learn(service, subject=f"thing {number}", predicate="weighs about", object=f"{number} kg")
    first = (await listed(service, limit=2)).json()
    second = (await listed(service, limit=2, cursor=first["cursor"])).json()
    last = (await listed(service, limit=2, cursor=second["cursor"])).json()
    seen = [each["object"] for page in (first, second, last) for each in page["facts"]]
    assert (seen, "cursor" in last) == ([f"{number} kg" for number in (4, 3, 2, 1, 0)], False)
    others: list[dict[str, Any]] = [
        {"subject": "thing 1"},
        {"predicate": "weighs about"},
        {"history": "true"},
        {"learned_from_run_id": RUN},
        {"agent_id": "another"},
        {"cursor": "x"},
    ]
    for other in others:
        assert_problem(await listed(service, **{"cursor": first["cursor"]} | other), 400, "invalid_cursor")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"subject": ""}, "subject"),
        ({"predicate": "x" * 257}, "predicate"),
        ({"learned_from_run_id": "run"}, "learned_from_run_id"),
        ({"history": "perhaps"}, "history"),
        ({"more": "x"}, "more"),
    ],
)
async def test_a_listing_outside_its_bounds_is_refused_by_name(
    shared_service: Service, wrong: dict[str, Any], field: str
) -> None:
    problem = assert_problem(await listed(shared_service, **wrong), 422, "invalid_request")
    assert [each["field"] for each in problem["errors"]] == [field]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"query": ""}, "query"), ({"top_k": 0}, "top_k"), ({"top_k": 51}, "top_k"), ({"subject": " "}, "subject")],
)
async def test_a_question_outside_its_bounds_is_refused_by_name(
    shared_service: Service, wrong: dict[str, Any], field: str
) -> None:
    answer = await shared_service.post("/facts/recall", {"agent_id": "bot", "query": "Oslo"} | wrong)
    problem = assert_problem(answer, 422, "invalid_request")
    assert [each["field"] for each in problem["errors"]] == [field]
