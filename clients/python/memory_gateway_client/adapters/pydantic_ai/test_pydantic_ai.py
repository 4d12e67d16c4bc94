"""The adapter in whole runs of an agent, whose model plays a script, against the running service."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolDefinition, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

from memory_gateway_client import AsyncMemoryClient, tools
from memory_gateway_client.adapters.pydantic_ai import example, memory_tools
from tests.support.service import Service

Call = tuple[str, dict[str, Any] | str]


class Player:
    """A model that makes the calls of each turn and then says `done`; keeps what it was given."""

    def __init__(self, turns: Sequence[Sequence[Call]]) -> None:
        self._turns = list(turns)
        self.tools: list[ToolDefinition] = []
        self.results: list[ToolReturnPart] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.tools = info.function_tools
        parts = [part for message in messages for part in message.parts]
        self.results = [part for part in parts if isinstance(part, ToolReturnPart)]
        calls = self._turns.pop(0) if self._turns else []
        return ModelResponse([ToolCallPart(name, written) for name, written in calls] or [TextPart("done")])

    @property
    def told(self) -> list[tuple[str, str]]:
        """How each call came out, and what the model was told of it."""
        return [(result.outcome, str(result.content)) for result in self.results]


async def play(
    memory: AsyncMemoryClient, *turns: Sequence[Call], retries: int = 1, tool_set: tools.ToolSet = "recall_store"
) -> Player:
    """Run an agent to its end, and return its model."""
    player = Player(turns)
    agent = Agent(FunctionModel(player), toolsets=[memory_tools(memory, tool_set)], retries=retries)
    assert (await agent.run("go on")).output == "done"
    return player


def answered_by(answer: Callable[[httpx.Request], Any]) -> AsyncMemoryClient:
    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return AsyncMemoryClient("http://service", "token", agent_id="bot", retries=0, http=http)


async def test_the_model_is_given_the_tools_of_the_definition(memory: AsyncMemoryClient) -> None:
    given = (await play(memory)).tools
    assert [(tool.name, tool.description, tool.parameters_json_schema) for tool in given] == [
        (tool.name, tool.description, tool.input_schema) for tool in tools.definitions()
    ]
    assert [tool.metadata for tool in given] == [{"tags": ["memory", "builtin"]}] * 2


async def test_the_schemas_are_not_taken_for_strict_ones(memory: AsyncMemoryClient) -> None:
    for tool in (await play(memory)).tools:
        transformer = OpenAIJsonSchemaTransformer(tool.parameters_json_schema, strict=tool.strict)
        transformer.walk()
        assert not transformer.is_strict_compatible


async def test_an_agent_of_the_four_tools_remembers_and_recalls(memory: AsyncMemoryClient, service: Service) -> None:
    admin = service.credential(admin=True)
    await service.client.put("/agents/bot", json={"tools": "profile"}, headers=admin)
    remember, recall = ("remember", {"content": "Ann likes tea"}), ("recall", {"query": "What does Ann like?"})
    player = await play(memory, [remember], [recall], tool_set="profile")
    assert [tool.name for tool in player.tools] == [tool.name for tool in tools.definitions("profile")]
    (_, remembered), (_, recalled) = player.told
    assert remembered == "Remembered."
    assert '"Ann likes tea"' in recalled


async def test_an_agent_stores_and_recalls(memory: AsyncMemoryClient) -> None:
    store = ("store_memory", {"content": "Ann likes tea", "metadata": {"of": "Ann"}})
    recall = ("recall_memory", '{"query": "tea", "top_k": 3, "filter": {"metadata": {"of": "Ann"}}}')
    (_, stored), (_, recalled) = (await play(memory, [store], [recall])).told
    assert json.loads(stored) == {"stored": True}
    assert [entry["content"] for entry in json.loads(recalled)["entries"]] == ["Ann likes tea"]


async def test_a_call_that_fails_leaves_the_others_of_its_turn_alone(
    memory: AsyncMemoryClient, service: Service
) -> None:
    stores: list[Call] = [("store_memory", {"content": f"Ann met the cats of house {number}"}) for number in range(8)]
    wrong: list[Call] = [("store_memory", {}), ("store_memory", {"content": " "})]
    player = await play(memory, [*stores, *wrong, ("recall_memory", {"query": "cats", "top_k": 20})])
    outcomes = [outcome for outcome, _ in player.told]
    assert outcomes == ["success"] * 8 + ["retried"] * 2 + ["success"]
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
        ("recall_memory", {"query": "x", "self": 1, "ctx": 1}, "ctx, self"),
        ("recall_memory", '{"query": "x"', "Invalid JSON"),
        ("recall_memory", '["x"]', "dict"),
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
    (outcome, told), (_, stored) = player.told
    assert outcome == "retried"
    assert says in told
    assert json.loads(stored) == {"stored": True}
    assert await service.contents("tea") == ["Ann likes tea"]


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_a_model_that_never_corrects_itself_does_not_end_the_run(memory: AsyncMemoryClient, retries: int) -> None:
    told = (await play(memory, *[[("recall_memory", {"query": ""})]] * 5, retries=retries)).told
    assert [outcome for outcome, _ in told][: retries + 1] == ["retried"] * retries + ["failed"]
    assert all("query must not be blank" in text for _, text in told)


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
    calls: list[Call] = [("recall_memory", {"query": "tea"}), ("store_memory", {"content": "tea"})]
    told = f"It did not work. {advice or 'Go on without long-term memory, and say so.'}"
    assert (await play(memory, *[calls] * 3)).told == [("failed", told)] * 6


async def test_a_service_that_is_not_there_is_told_to_the_model() -> None:
    def refused(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    ((outcome, told),) = (await play(answered_by(refused), [("recall_memory", {"query": "tea"})])).told
    assert outcome == "failed"
    assert "No connection" in told


async def test_that_the_agents_memory_is_switched_off_is_told_to_the_model(
    memory: AsyncMemoryClient, service: Service
) -> None:
    await service.store("Ann likes tea")
    admin = service.credential(admin=True)
    await service.client.put("/agents/bot", json={"long_term_enabled": False}, headers=admin)
    ((outcome, told),) = (await play(memory, [("recall_memory", {"query": "tea"})])).told
    assert outcome == "failed"
    assert "switched off" in told


async def test_two_memories_in_one_agent_have_a_prefix_each(memory: AsyncMemoryClient, service: Service) -> None:
    def nobody(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"entries": [], "confidence": 0.0})

    player = Player([[("mine_store_memory", {"content": "tea"}), ("ours_recall_memory", {"query": "tea"})]])
    memories = [memory_tools(memory).prefixed("mine"), memory_tools(answered_by(nobody)).prefixed("ours")]
    await Agent(FunctionModel(player), toolsets=memories).run("go on")
    stored, recalled = (json.loads(told) for _, told in player.told)
    assert stored == {"stored": True}
    assert (recalled["entries"], recalled["confidence"]) == ([], 0.0)
    assert await service.contents("tea") == ["tea"]


async def test_the_example_remembers_and_answers(url: str, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"URL": url, "TOKEN": token, "AGENT": "bot"}.items():
        monkeypatch.setenv(f"MEMORY_GATEWAY_{name}", value)
    assert await example.answer("ask what does Ann drink?") == "I remember nothing about that."
    assert await example.answer("remember Ann likes tea") == "I will remember that."
    assert await example.answer("ask what does Ann drink, tea or coffee?") == "Ann likes tea"
    assert "blank" in await example.answer("remember  ")
