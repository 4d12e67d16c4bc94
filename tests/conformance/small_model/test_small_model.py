"""A real model that is fluent and wrong: what it makes up becomes no memory and no answer."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import httpx
import pytest

from tests.process.conftest import Start

pytestmark = pytest.mark.timeout(900)
_Said = Sequence[str]
_CONVERSATIONS: Sequence[_Said] = (
    (
        "I work at Siemens in Malmo since 2019, in the team of Karin Holm.",
        "My dog Bruno is 4 years old and allergic to chicken.",
        "The rent of our flat went up to 1450 euros in March.",
    ),
    (
        "Please write the reports in Swedish, two pages at most.",
        "I switched from Helix to Zed last week.",
        "The deploy runs at 17:00 on Fridays, and Anna watches it.",
    ),
    (
        "Our customer Nordbank pays 12 days late, as always.",
        "We meet them in Oslo on 14 June.",
        "I do not eat meat any more, since January.",
    ),
)
"""What is said. The model takes up to a minute for each, and more of a busy processor."""
_DETAIL = re.compile(r"\d+(?:[.,]\d+)?|(?<=[a-z,;] )[A-Z]\w+")
"""A number, or a word with a capital behind another word: what a model that makes things up makes up."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
"""The days of messages, which the service writes itself."""
_SECONDS = 700


@pytest.fixture
async def client(model_url: str, start: Start) -> AsyncIterator[httpx.AsyncClient]:
    server = await start(
        EMBEDDER="local",
        READER="local",
        LANGUAGE_MODEL="http",
        LANGUAGE_MODEL_BASE_URL=model_url,
        LANGUAGE_MODEL_SECONDS="300",
        RECALL_MODEL_SECONDS="60",
    )
    async with server.client() as client:
        client.timeout = httpx.Timeout(120)
        yield client


async def learned(client: httpx.AsyncClient, agent: str, conversations: Iterable[_Said]) -> list[dict[str, Any]]:
    """Hand the conversations over to one agent, and return what the model has made of each, once it has ended."""
    operations = []
    for number, said in enumerate(conversations):
        messages = [{"role": "user", "content": text, "timestamp": f"2026-05-0{number + 1}T09:00:00Z"} for text in said]
        body = {"messages": messages, "session_id": str(number)}
        answer = await client.post(f"/profiles/{agent}/ingest", json=body)
        assert answer.status_code in (200, 202), answer.text
        operations.append(f"/profiles/{agent}/operations/{answer.json()['operation_id']}")
    made: list[dict[str, Any]] = []
    async with asyncio.timeout(_SECONDS):
        for operation in operations:
            while (told := (await client.get(operation)).json().get("learning", {})).get("status") in (None, "running"):
                await asyncio.sleep(0.5)
            made.append(told)
    return made


def made_up(text: str, conversations: Iterable[_Said]) -> set[str]:
    """Return the numbers and names of a text that nobody said."""
    said = " ".join(text for conversation in conversations for text in conversation).lower()
    return {detail for detail in _DETAIL.findall(_DAY.sub("", text)) if detail.lower() not in said}


@pytest.mark.parametrize("count", [1, pytest.param(len(_CONVERSATIONS), marks=pytest.mark.long)])
async def test_what_the_model_makes_up_becomes_no_memory_and_no_answer(client: httpx.AsyncClient, count: int) -> None:
    conversations = _CONVERSATIONS[:count]
    made = await learned(client, "bot", conversations)
    proposals = [proposal for told in made for of in ("learned", "known", "dropped") for proposal in told[of]]
    refused = [proposal for told in made for of in ("dropped", "corrected") for proposal in told[of]]
    assert proposals, "the model has proposed nothing, so that this proves nothing"
    assert all(proposal["reason"] for proposal in refused)
    listed = (await client.get("/memories", params={"agent_id": "bot", "limit": 100})).json()["memories"]
    contents = {memory["content"] for memory in listed}
    assert {text for conversation in conversations for text in conversation} <= contents
    assert {content: found for content in contents if (found := made_up(content, conversations))} == {}
    for question in ("Where do I work?", "Who is my doctor?"):
        asked = {"query": question, "thinking_level": "high"}
        answer = (await client.post("/profiles/bot/recall", json=asked)).json()["answer"]
        assert made_up(answer, conversations) == set(), answer
