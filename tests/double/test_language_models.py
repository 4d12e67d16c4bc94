"""The double's language models: honest by rules, or as they are scripted over the control path."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import orjson
import pytest

from memory_gateway_double.faults import Fault
from memory_gateway_double.models.language import Step
from tests.double.conftest import Client

MODEL = "@cf/meta/llama-4-scout-17b-16e-instruct"
MESSAGES = """<<<m4rk messages
[1] 2026-05-04 Monday, user (read before): I had a boat once.
[2] 2026-05-04 Monday, user: I moved to Oslo yesterday [2026-05-03].
    My flat has 3 rooms.
[3] 2026-05-04 Monday, assistant: You live in Oslo now.
[4] 2026-05-04 Monday, user: Where is it sunny?
[5] 2026-05-04 Monday, user: Thanks!
[6] 2026-05-04 Monday, user: The deadline is moved.
m4rk>>>"""
MEMORIES = """<<<m4rk memories
(1) from [2, 6]: The user moved to Oslo.
(2) from [6]: The deadline is moved.
m4rk>>>"""
RECALLED = """Asked on 2026-05-05 Tuesday.

<<<m4rk memories
(1) 2026-05-04 Monday, 1 day ago, user: The user moved to Oslo yesterday [2026-05-03].
    before 2026-05-03: 2025-01-01 Wednesday: The user lives in Rome.
(2) 2026-05-04 Monday, 1 day ago: The deadline is moved.
m4rk>>>

<<<m4rk question
Where does the user live?
m4rk>>>"""
Ask = Callable[..., httpx.Response]


def body(stage: str, prompt: str, **fields: Any) -> dict[str, Any]:
    wanted = {"type": "json_schema", "json_schema": {"name": stage, "schema": {"type": "object"}}}
    return {"model": MODEL, "messages": [{"role": "user", "content": prompt}], "response_format": wanted, **fields}


@pytest.fixture(params=["openai", "workers-ai"])
def ask(client: Client, request: pytest.FixtureRequest) -> Ask:
    if request.param == "openai":
        return lambda asked: client.openai(asked, "chat/completions")
    return lambda asked: client.post("/ai/v1/chat/completions", asked)


@pytest.fixture(autouse=True)
def _as_it_was(client: Client) -> Iterator[None]:
    client.handle.double.models.clear()
    yield
    client.handle.double.models.clear()


def content(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return orjson.loads(answer.json()["choices"][0]["message"]["content"])


HONEST: dict[str, tuple[str, Any]] = {
    "extract": (
        MESSAGES,
        {
            "memories": [
                {
                    "statement": "The user moved to Oslo yesterday. the user's flat has 3 rooms.",
                    "lines": [2],
                    "day": "",
                },
                {"statement": "The user: The deadline is moved.", "lines": [6], "day": ""},
            ]
        },
    ),
    "detail": (
        MESSAGES,
        {
            "memories": [
                {"statement": "The user moved to Oslo yesterday. the user's flat has 3 rooms.", "lines": [2], "day": ""}
            ]
        },
    ),
    "verify": (MEMORIES, {"passed": [1, 2], "corrected": [], "dropped": []}),
    "analyse": (
        RECALLED,
        {
            "topics": [],
            "synonyms": ["Where", "does", "the", "user", "live"],
            "statement": "Where does the user live?",
        },
    ),
    "synthesise": (RECALLED, {"sentences": [{"text": "The user moved to Oslo yesterday.", "memories": [1]}]}),
}


@pytest.mark.parametrize("stage", HONEST)
def test_a_stage_is_answered_honestly(ask: Ask, stage: str) -> None:
    prompt, expected = HONEST[stage]
    assert content(ask(body(stage, prompt, max_tokens=1000))) == expected


def test_each_memory_is_classified_as_an_event_with_three_queries_of_its_words(ask: Ask) -> None:
    first, second = content(ask(body("classify", MEMORIES)))["memories"]
    assert (first["memory"], first["type"], first["topic"], len(first["queries"])) == (1, "event", "", 3)
    assert all(word in "The deadline is moved" for query in second["queries"] for word in query.split())


def test_a_stage_is_known_by_a_bare_schema_and_by_a_schema_in_the_prompt(ask: Ask) -> None:
    _, expected = HONEST["verify"]
    asked = body("verify", MEMORIES)
    asked["response_format"]["json_schema"] = {"title": "verify", "type": "object"}
    assert content(ask(asked)) == expected
    asked["response_format"] = {"type": "json_object"}
    asked["messages"].insert(0, {"role": "system", "content": 'Fit this: {"title":"verify","type":"object"}'})
    assert content(ask(asked)) == expected


def test_steps_come_in_their_order_and_honesty_after_them(client: Client, ask: Ask) -> None:
    client.handle.double.models.script("verify", Step({"a": 1}, times=2), Step("nonsense"))
    said = [ask(body("verify", MEMORIES)).json()["choices"][0]["message"]["content"] for _ in range(4)]
    assert said[:3] == ['{"a":1}', '{"a":1}', "nonsense"]
    assert orjson.loads(said[3]) == HONEST["verify"][1]


def test_a_stage_without_steps_takes_those_of_every_stage(client: Client, ask: Ask) -> None:
    client.handle.double.models.script("*", Step("all"))
    client.handle.double.models.script("verify", Step("own"))
    said = [ask(body("verify", MEMORIES)).json()["choices"][0]["message"]["content"] for _ in range(2)]
    assert said == ["own", "all"]


def test_scripts_counts_and_refusals_are_set_over_http(client: Client, ask: Ask) -> None:
    state = client.control("PUT", "models", {"verify": [{"status": 503, "headers": {"retry-after": "3"}}]}).json()
    assert state["steps"] == {"verify": 1}
    answer = ask(body("verify", MEMORIES))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
    assert client.control("PUT", "models/refuse", {"features": ["json_schema"]}).json()["refuses"] == ["json_schema"]
    answer = ask(body("verify", MEMORIES))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "response_format")
    state = client.control("GET", "models").json()
    assert (state["calls"], state["at_once"], state["most_at_once"]["verify"]) == ({"verify": 2}, 0, 1)
    assert client.control("DELETE", "models").status_code == 200
    assert content(ask(body("verify", MEMORIES))) == HONEST["verify"][1]


@pytest.mark.parametrize(
    ("path", "script"),
    [
        ("models", {"verify": {"form": "poem"}}),
        ("models", {"verify": {"times": 0}}),
        ("models", {"verify": [{"unknown": 1}]}),
        ("models/refuse", {"features": ["poems"]}),
        ("models/refuse", {}),
    ],
)
def test_scripts_that_are_none_are_refused(client: Client, path: str, script: Any) -> None:
    assert client.control("PUT", path, script).status_code == 400


def test_calls_at_once_are_counted(client: Client) -> None:
    client.handle.double.models.script("verify", Step({}, delay_seconds=0.2, times=None))
    ready = threading.Barrier(3)

    def call(_: int) -> int:
        ready.wait()
        return client.openai(body("verify", MEMORIES), "chat/completions").status_code

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(call, range(3))) == [200] * 3
    assert client.handle.double.models.most_at_once("verify") == 3
    assert client.handle.double.models.most_at_once() == 3
    assert client.handle.double.models.calls() == {"verify": 3}


def test_an_answer_ends_at_its_limit_and_on_workers_ai_at_256_tokens(client: Client, ask: Ask) -> None:
    asked = {"model": MODEL, "messages": [{"role": "user", "content": "word " * 1000}]}
    choice = ask({**asked, "max_tokens": 10}).json()["choices"][0]
    assert (choice["finish_reason"], len(choice["message"]["content"])) == ("length", 40)
    whole = client.openai(asked, "chat/completions").json()["choices"][0]
    assert whole["finish_reason"] == "stop"
    cut = client.post("/ai/v1/chat/completions", asked).json()["choices"][0]
    assert (cut["finish_reason"], len(cut["message"]["content"])) == ("length", 1024)


def test_a_connection_is_cut_and_faults_strike_as_everywhere(client: Client, ask: Ask) -> None:
    client.handle.double.models.script("verify", Step(cut=True))
    with pytest.raises(httpx.HTTPError):
        ask(body("verify", MEMORIES))
    client.handle.double.faults.add(Fault("*.chat", status=429))
    assert ask(body("verify", MEMORIES)).status_code == 429
