"""The adapter in whole runs of an agent, whose model plays a script, against the running service."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx
import pytest
from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Tool,
    Usage,
    set_trace_processors,
)
from agents.items import TResponseStreamEvent
from agents.tracing import Span, Trace, TracingProcessor
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from memory_gateway_client import AsyncMemoryClient, tools
from memory_gateway_client.adapters.openai_agents import example, memory_tools
from tests.support.service import Service

UNTRACED = RunConfig(tracing_disabled=True)
Call = tuple[str, dict[str, Any] | str]


class Player(Model):
    """Makes the calls of each turn and then says `done`; keeps what it was given."""

    def __init__(self, turns: Sequence[Sequence[Call]]) -> None:
        self._turns = list(turns)
        self.tools: list[Tool] = []
        self.results: list[str] = []

    async def get_response(
        self,
        system_instructions: str | None,  # noqa: ARG002
        input: Any,  # noqa: A002
        model_settings: object,  # noqa: ARG002
        tools: list[Tool],
        *_: object,
        **__: object,
    ) -> ModelResponse:
        self.tools = tools
        items = [] if isinstance(input, str) else input
        self.results = [item["output"] for item in items if item.get("type") == "function_call_output"]
        calls = self._turns.pop(0) if self._turns else []
        output: list[Any] = [
            ResponseFunctionToolCall(
                type="function_call",
                call_id=f"{len(self.results)}-{position}",
                name=name,
                arguments=written if isinstance(written, str) else json.dumps(written),
            )
            for position, (name, written) in enumerate(calls)
        ]
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        said = ResponseOutputMessage(type="message", id="m", role="assistant", status="completed", content=[text])
        return ModelResponse(output=output or [said], usage=Usage(), response_id=None)

    def stream_response(self, *_: object, **__: object) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError


async def play(
    memory: AsyncMemoryClient,
    *turns: Sequence[Call],
    config: RunConfig = UNTRACED,
    tool_set: tools.ToolSet = "recall_store",
) -> Player:
    """Run an agent to its end, and return its model."""
    player = Player(turns)
    agent = Agent(name="assistant", model=player, tools=[*memory_tools(memory, tool_set)])
    result = await Runner.run(agent, "go on", run_config=config)
    assert result.final_output == "done"
    return player


def answered_by(answer: Callable[[httpx.Request], Any]) -> AsyncMemoryClient:
    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return AsyncMemoryClient("http://service", "token", agent_id="bot", retries=0, http=http)


async def test_the_model_is_given_the_tools_of_the_definition(memory: AsyncMemoryClient) -> None:
    given = [tool for tool in (await play(memory)).tools if isinstance(tool, FunctionTool)]
    assert [(tool.name, tool.description, tool.params_json_schema) for tool in given] == [
        (tool.name, tool.description, tool.input_schema) for tool in tools.definitions()
    ]
    assert not any(tool.strict_json_schema for tool in given)


async def test_an_agent_stores_and_recalls(memory: AsyncMemoryClient) -> None:
    store = ("store_memory", {"content": "Ann likes tea", "metadata": {"of": "Ann"}})
    recall = ("recall_memory", {"query": "tea", "top_k": 3, "filter": {"metadata": {"of": "Ann"}}})
    stored, recalled = (await play(memory, [store], [recall])).results
    assert json.loads(stored) == {"stored": True}
    assert [entry["content"] for entry in json.loads(recalled)["entries"]] == ["Ann likes tea"]


async def test_an_agent_of_the_four_tools_remembers_and_recalls(memory: AsyncMemoryClient, service: Service) -> None:
    admin = service.credential(admin=True)
    await service.client.put("/agents/bot", json={"tools": "profile"}, headers=admin)
    remember, recall = ("remember", {"content": "Ann likes tea"}), ("recall", {"query": "What does Ann like?"})
    player = await play(memory, [remember], [recall], tool_set="profile")
    given = [tool for tool in player.tools if isinstance(tool, FunctionTool)]
    assert [tool.name for tool in given] == [tool.name for tool in tools.definitions("profile")]
    assert all(tool.strict_json_schema for tool in given)
    remembered, recalled = player.results
    assert remembered == "Remembered."
    assert '"Ann likes tea"' in recalled


async def test_a_call_that_fails_leaves_the_others_of_its_turn_alone(
    memory: AsyncMemoryClient, service: Service
) -> None:
    stores: list[Call] = [("store_memory", {"content": f"Ann met the cats of house {number}"}) for number in range(8)]
    player = await play(memory, [*stores, ("store_memory", {}), ("recall_memory", {"query": "cats", "top_k": 20})])
    *stored, refused, _ = player.results
    assert [json.loads(each) for each in stored] == [{"stored": True}] * 8
    assert "content" in refused
    assert len(await service.contents("cats", top_k=20)) == 8


async def test_calls_of_one_turn_run_at_the_same_time() -> None:
    barrier = asyncio.Barrier(4)

    async def stored(_: httpx.Request) -> httpx.Response:
        async with asyncio.timeout(10):
            await barrier.wait()
        return httpx.Response(201, json={"stored": True})

    player = await play(answered_by(stored), [("store_memory", {"content": "tea"})] * 4)
    assert len(player.results) == 4


@pytest.mark.parametrize(
    ("name", "written", "says"),
    [
        ("recall_memory", "", "query"),
        ("recall_memory", {"query": "x", "top_k": 21}, "top_k"),
        ("recall_memory", {"query": "x", "agent_id": "other"}, "agent_id"),
        ("recall_memory", '{"query": "x"', "not JSON"),
        ("recall_memory", '["x"]', "JSON object"),
        ("recall_memory", '{"query": "x", "top_k": NaN}', "not JSON"),
        ("store_memory", '{"content": "x", "metadata": {"n": 1e999}}', "not JSON"),
        ("store_memory", {"content": "x", "metadata": {"n": [[[[[[[[[1]]]]]]]]]}}, "nested"),
        ("store_memory", {"content": "a\0b"}, "NUL"),
        ("store_memory", {"content": "x" * 40_000}, "32768"),
        ("store_memory", {"content": " "}, "blank"),
    ],
)
async def test_wrong_arguments_are_told_to_the_model_which_corrects_them(
    memory: AsyncMemoryClient, service: Service, name: str, written: dict[str, Any] | str, says: str
) -> None:
    player = await play(memory, [(name, written)], [("store_memory", {"content": "Ann likes tea"})])
    told, stored = player.results
    assert says in told
    assert "try again" in told
    assert json.loads(stored) == {"stored": True}
    assert await service.contents("tea") == ["Ann likes tea"]


@pytest.mark.parametrize(
    ("status", "code", "advice"),
    [
        (429, "quota_exceeded", "Store no more today."),
        (503, "embedding_unavailable", None),
        (403, "forbidden", "Ask the operator."),
    ],
)
async def test_a_failure_is_told_to_the_model_and_is_no_empty_memory(
    status: int, code: str, advice: str | None
) -> None:
    problem = {"code": code, "detail": "It did not work.", **({"advice": advice} if advice else {})}
    memory = answered_by(lambda _: httpx.Response(status, json=problem))
    player = await play(memory, [("recall_memory", {"query": "tea"}), ("store_memory", {"content": "tea"})])
    told = f"It did not work. {advice or 'Go on without long-term memory, and say so.'}"
    assert player.results == [told, told]


async def test_a_service_that_is_not_there_is_told_to_the_model() -> None:
    def refused(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    (told,) = (await play(answered_by(refused), [("recall_memory", {"query": "tea"})])).results
    assert "No connection" in told
    assert "Go on without long-term memory" in told


async def test_that_the_agents_memory_is_switched_off_is_told_to_the_model(
    memory: AsyncMemoryClient, service: Service
) -> None:
    await service.store("Ann likes tea")
    admin = service.credential(admin=True)
    await service.client.put("/agents/bot", json={"long_term_enabled": False}, headers=admin)
    (told,) = (await play(memory, [("recall_memory", {"query": "tea"})])).results
    assert "switched off" in told


async def test_the_span_of_a_failed_call_carries_the_errors_code_alone(memory: AsyncMemoryClient) -> None:
    spans = Spans()
    set_trace_processors([spans])
    calls: list[Call] = [("recall_memory", {"query": "secret", "top_k": 0}), ("recall_memory", {"query": "tea"})]
    await play(memory, calls, config=RunConfig(trace_include_sensitive_data=False))
    set_trace_processors([])
    assert spans.errors == [{"message": "invalid_request", "data": {"tool_name": "recall_memory"}}]


class Spans(TracingProcessor):
    """Keeps the errors of all spans."""

    def __init__(self) -> None:
        self.errors: list[Any] = []

    def on_trace_start(self, trace: Trace) -> None: ...
    def on_trace_end(self, trace: Trace) -> None: ...
    def on_span_start(self, span: Span[Any]) -> None: ...
    def on_span_end(self, span: Span[Any]) -> None:
        self.errors += [span.error] if span.error else []

    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...


async def test_the_example_remembers_and_answers(url: str, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"URL": url, "TOKEN": token, "AGENT": "bot"}.items():
        monkeypatch.setenv(f"MEMORY_GATEWAY_{name}", value)
    assert await example.answer("ask what does Ann drink?") == "I remember nothing about that."
    assert await example.answer("remember Ann likes tea") == "I will remember that."
    assert await example.answer("ask what does Ann drink, tea or coffee?") == "Ann likes tea"
    assert "blank" in await example.answer("remember  ")
