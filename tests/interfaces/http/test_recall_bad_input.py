"""Questions of every kind: each is answered, or refused with a 422 that names the field."""

from typing import Any

import pytest

from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service

FOX = "the red fox AND the bear"
ID = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"

ODD = {
    "10,000 words": " ".join(f"{n % 100:02}" for n in range(10_000)),
    "one word of 32 KiB": "x" * 32_768,
    "32 KiB of one character": "茶" * 10_922,
    "quotes alone": '"' * 5_000,
    "an unbalanced quote": '"red fox',
    "many unbalanced quotes": 'fox" "bear" "',
    "stop words": "what is it that they were to the of",
    "emoji": "\U0001f98a\U0001f43b\u200d\u2764\ufe0f",
    "punctuation": "?!.,;:-+*/^~()[]{}'",
    "zero width": "\u200b\u200c\u200d\u2060\ufeff",
    "zero width within words": "fo\u200bx be\u00adar",
    "right to left": "\u202e xof der \u202c שלום",
    "accents alone": "\u0301\u0308",
    "control characters": "\x01\x02 fox \x7f",
    "NEAR": "NEAR(red fox, 5)",
    "AND OR NOT": "red AND fox OR bear NOT owl",
    "operators alone": "AND OR NOT NEAR",
    "a prefix": "fo*",
    "initial": "^red",
    "columns": "{scope content} : fox",
    "a scope": 'scope : "61636d65g626f740"',
    "minus and plus": "-red +fox",
    "parentheses": "((red) (fox",
    "an apostrophe": "'; DROP TABLE memory_words; --",
    "a backslash": "fox\\",
    "percent and braces": "%s {0} {{x}} ${y} fox",
    "a date that does not exist": "the fox of 2023-02-30, 31 June and 99/99/9999",
    "a year far away": "the fox in the year 99999 and 0000-00-00",
    "many dates": "2023-01-01 " * 2_900,
    "many names": "Ann " * 8_000,
    "many times": "last week " * 3_200,
    "many relations": "before the fox after the bear " * 1_000,
    "a private character": "\ue000\uffff\U0010ffff",
}


async def test_any_question_is_answered_and_explained(service: Service) -> None:
    await service.store(FOX, session_id="s", metadata={"speaker": "fox"})
    await service.store("in the barn", session_id="s")
    for name, query in ODD.items():
        answer = await service.post("/recall", {"agent_id": "bot", "query": query, "explain": True})
        assert answer.status_code == 200, (name, answer.text)
        body = answer.json()
        assert "degraded" not in body, (name, body)
        assert len(body["entries"]) == 2, (name, body)
        explained = {"agent_id": "bot", "query": query, "memory_id": body["entries"][1]["id"], "top_k": 1}
        answer = await service.post("/recall/explain", explained)
        assert answer.status_code == 200, (name, answer.text)
        assert (answer.json()["rank"], answer.json()["obstacles"]) == (2, ["rank"]), name


REFUSED: list[tuple[str, list[Any]]] = [
    ("min_score", [-0.1, 1.1, "0.5", True, None, [], 10**400]),
    ("max_tokens", [0, -1, 1.5, "10", True, []]),
    ("reference_time", ["yesterday", "2026-01-01", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00", 5, True, []]),
    ("collapse", [0, 1, "true", "yes", []]),
    ("top_k", [0, 51, "5", None]),
    ("query", ["", " ", "a\0b", "x" * 32_769, None]),
    ("tenant_id", ["other"]),
    ("min_scores", [0.5]),
]
OF_RECALL: list[tuple[str, list[Any]]] = [
    ("explain", [0, 1, "true", None, {}]),
    ("for_model", [0, 1, "true", None, {}]),
    ("group_by", ["", "sessions", "Session", "agent", 0, True, [], ["session"], {}]),
    ("memory_id", [ID]),
]
OF_EXPLAIN: list[tuple[str, list[Any]]] = [
    ("memory_id", ["", "no ulid", ID.lower(), f"{ID}A", ID[:25], 5, None]),
    ("explain", [True]),
    ("for_model", [True]),
    ("group_by", ["session"]),
]


@pytest.mark.parametrize(
    ("path", "refused"), [("/recall", REFUSED + OF_RECALL), ("/recall/explain", REFUSED + OF_EXPLAIN)]
)
async def test_a_field_of_the_wrong_type_or_range_is_refused_and_named(
    service: Service, path: str, refused: list[tuple[str, list[Any]]]
) -> None:
    right = {"agent_id": "bot", "query": "fox"} | ({"memory_id": ID} if path.endswith("explain") else {})
    for field, values in refused:
        for value in values:
            answer = await service.post(path, right | {field: value})
            assert named_fields(assert_problem(answer, 422, "invalid_request")) == {field}, (field, value)


async def test_what_is_right_at_its_limits_is_taken(service: Service) -> None:
    await service.store(FOX)
    right: list[dict[str, Any]] = [
        {"min_score": 0},
        {"min_score": 1},
        {"min_score": 1e-300},
        {"max_tokens": 1},
        {"max_tokens": None},
        {"max_tokens": 7.0},
        {"max_tokens": 10**30},
        {"reference_time": "0001-01-01T00:00:00Z"},
        {"reference_time": "9999-12-31T23:59:59Z"},
        {"reference_time": None},
        {"collapse": True, "explain": True},
        {"top_k": 20},
    ]
    for fields in right:
        body = {"agent_id": "bot", "query": "what did the fox do last week and next decade?"} | fields
        assert (await service.post("/recall", body)).status_code == 200, fields


async def test_an_explanation_without_a_memory_names_it(service: Service) -> None:
    answer = await service.post("/recall/explain", {"agent_id": "bot", "query": "fox"})
    assert named_fields(assert_problem(answer, 422, "invalid_request")) == {"memory_id"}


async def test_a_memory_of_another_agent_or_tenant_is_as_unknown_as_one_that_never_was(service: Service) -> None:
    await service.store(FOX)
    await service.store(FOX, agent_id="other")
    await service.store(FOX, tenant="other")
    (of_agent,) = await service.recall("fox", agent_id="other")
    (of_tenant,) = await service.recall("fox", tenant="other")
    told = []
    for memory_id in (ID, of_agent["id"], of_tenant["id"]):
        answer = await service.post("/recall/explain", {"agent_id": "bot", "query": "fox", "memory_id": memory_id})
        problem = assert_problem(answer, 404, "not_found")
        told.append({name: value for name, value in problem.items() if name != "request_id"})
    assert told[0] == told[1] == told[2]


async def test_one_that_was_deleted_is_unknown(service: Service) -> None:
    await service.store(FOX)
    (entry,) = await service.recall("fox")
    await service.delete(entry["id"])
    answer = await service.post("/recall/explain", {"agent_id": "bot", "query": "fox", "memory_id": entry["id"]})
    assert_problem(answer, 404, "not_found")


async def test_the_change_that_is_proposed_is_a_question(service: Service) -> None:
    for n in range(8):
        await service.store(f"the red fox {n}", metadata={"k": 1})
    await service.store("nothing of it", metadata={"k": 2})
    (wanted,) = await service.recall("fox", filter={"metadata": {"k": 2}})
    asked: dict[str, Any] = {"agent_id": "bot", "query": "red fox", "top_k": 2, "filter": {"metadata": {"k": 1}}}
    explained = (await service.post("/recall/explain", asked | {"memory_id": wanted["id"]})).json()
    assert (explained["returned"], explained["obstacles"]) == (False, ["filter", "rank"])
    assert explained["change"] == {"top_k": explained["change"]["top_k"], "filter": {}}
    entries = (await service.post("/recall", asked | explained["change"])).json()["entries"]
    assert wanted["id"] in [entry["id"] for entry in entries]
    returned = (await service.post("/recall/explain", asked | explained["change"] | {"memory_id": wanted["id"]})).json()
    assert (returned["returned"], returned["obstacles"], returned["change"]) == (True, [], None)
