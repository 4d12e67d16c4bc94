"""Windows at their bounds: each turn is in its window or in a summary, whatever there is and whoever sums it up."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.domain import limits
from app.domain.errors import (
    InvalidRequest,
    MemoryGatewayError,
    RateLimited,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamUnavailable,
)
from app.domain.messages import NewMessage
from app.domain.quotas import Defaults
from app.ports.database import Row, Statement
from app.services.memories.browse import Browser
from app.services.tiers.windows import WindowService
from app.storage.agents import AgentChange
from tests.services.believing_reader import BelievingReader
from tests.services.scripted_reader import ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.scripted_model import Answer, ScriptedModel, failing


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench
        await bench.backends.background.close()


def windows(bench: Bench, **services: Any) -> WindowService:
    given = {"window_tokens": 1, "reader": None, **services}
    return WindowService(with_changed(bench.backends, **given).of_tenant("acme", ADMINISTRATOR))


async def append(service: WindowService, bench: Bench, *said: str) -> None:
    await service.append("bot", "i", [NewMessage("user", content) for content in said], ttl_seconds=3600)
    while tasks := list(bench.backends.background._tasks):  # noqa: SLF001 - nothing else tells
        await asyncio.wait(tasks)


async def counts(service: WindowService) -> tuple[int, int, int]:
    """Return how many turns a window holds, its summaries are of, and have fallen out of it."""
    window = await service.window("bot", "i", max_tokens=200_000)
    assert window.state is not None
    return window.state.messages, sum(each.turns for each in window.summaries), window.state.fallen


class Meanwhile:
    """A database in which turns are found to be no memories, so many times, though they become some in that moment."""

    def __init__(self, inner: Any, times: int) -> None:
        self.inner, self.times = inner, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        results: list[list[Row]] = await self.inner.run(statements)
        if self.times and any("memory_id" in row and "place" in row for rows in results for row in rows):
            self.times -= 1
            return [[{**row, "memory_id": None} if "place" in row else row for row in rows] for rows in results]
        return results


async def test_a_turn_that_becomes_a_memory_after_it_was_looked_for_falls_with_a_summary(bench: Bench) -> None:
    service = windows(bench, database=Meanwhile(bench.backends.database, 1))
    await append(service, bench, "One.", "Two.")
    assert await counts(service) == (2, 0, 0)
    await append(service, bench, "Three.")
    assert await counts(service) == (1, 2, 2)


async def test_what_long_term_memory_refuses_falls_still(bench: Bench) -> None:
    browser = Browser(bench.backends.of_tenant("acme", ADMINISTRATOR))
    await browser.set_agent("bot", AgentChange(long_term_enabled=False))
    await append(windows(bench), bench, "One.", "Two.")
    assert await counts(windows(bench)) == (1, 0, 0)


async def test_a_turn_larger_than_the_window_is_given_where_no_bound_is_told(bench: Bench) -> None:
    service = windows(bench, window_tokens=100)
    await append(service, bench, "A small one.", "x" * 30_000)
    window = await service.window("bot", "i")
    assert ([len(turn.content) for turn in window.turns], window.older, window.tokens) == ([30_000], 0, 7_500)
    window = await service.window("bot", "i", max_tokens=7_499)
    assert (window.turns, window.older) == ([], 1)


async def test_a_bound_of_one_token_gives_no_more_than_that(bench: Bench) -> None:
    service = windows(bench, window_tokens=100)
    await append(service, bench, "four and more", "a")
    assert [turn.content for turn in (await service.window("bot", "i", max_tokens=1)).turns] == ["a"]


@pytest.mark.parametrize("most", [0, -1, 200_001, 10**30])
async def test_a_bound_that_no_window_has_is_refused_by_name(bench: Bench, most: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await windows(bench).window("bot", "i", max_tokens=most)
    assert [each.field for each in caught.value.errors] == ["max_tokens"]


SCRIPTS = {
    "\u79c1\u306f\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059": 11,
    "\u042f \u0436\u0438\u0432\u0443": 6,
    "caf\u00e9": 2,
    "\U0001f600\U0001f600": 2,
}


@pytest.mark.parametrize("content", SCRIPTS)
async def test_a_letter_of_another_script_is_a_token_of_its_own(bench: Bench, content: str) -> None:
    service = windows(bench, window_tokens=SCRIPTS[content] + 1)
    await append(service, bench, content, "a")
    window = await service.window("bot", "i")
    assert [turn.tokens for turn in window.turns] == [SCRIPTS[content], 1]
    await append(service, bench, "b")
    assert [turn.content for turn in (await service.window("bot", "i")).turns] == ["a", "b"]


ERRORS: Sequence[Callable[[str], MemoryGatewayError]] = (
    lambda told: RateLimited(told, retry_after=60),
    UpstreamUnavailable,
    UpstreamOverloaded,
    UpstreamRejected,
)


def texts(text: str) -> Answer:
    return lambda _: {"sentences": [{"text": text, "memories": [1]}]}


ANSWERS: Sequence[Answer] = (
    *(failing(error("It does not answer.")) for error in ERRORS),
    texts(""),
    texts("The user lives in Oslo " * 100),
    texts("\u5965" * 370),
)


@pytest.mark.parametrize("answer", ANSWERS)
async def test_whatever_a_model_answers_turns_fall_with_what_the_reader_holds(
    bench: Bench, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.models.model_calls.LONGEST_PAUSE", 0.0)
    reader = BelievingReader()
    service = windows(bench, reader=reader, model=ScriptedModel({"synthesise": answer}))
    await append(service, bench, f"I live in Oslo. {chr(0x5965) * 370}", "The newest.")
    (summary,) = await service.summaries("bot", "i")
    assert (summary.text.splitlines()[0], summary.made_by, summary.turns) == ("user: I live in Oslo.", "reader", 1)


async def test_sentences_that_are_merged_again_and_again_rest_on_a_few_memories(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WINDOW_SUMMARIES", 3)
    monkeypatch.setattr(limits, "MERGED_SUMMARIES", 3)
    monkeypatch.setattr(limits, "SUMMARY_TURNS", 1)

    def all_of_it(text: str) -> Any:
        lines = [int(line[1:].split(")")[0]) for line in text.splitlines() if line[:1] == "("]
        return {"sentences": [{"text": f"The user keeps boats {'and ' * len(lines)}boats.", "memories": lines[:10]}]}

    service = windows(bench, reader=BelievingReader(), model=ScriptedModel({"synthesise": all_of_it}))
    for number in range(30):
        await append(service, bench, f"I keep {number} boats.")
        assert all(len(each.memories) <= 10 for one in await service.summaries("bot", "i") for each in one.sentences)
    assert await counts(service) == (1, 29, 29)


@pytest.mark.parametrize("hundreds", [25, pytest.param(100, marks=pytest.mark.long)])
async def test_thousands_of_turns_leave_twenty_summaries_that_are_of_all_of_them(bench: Bench, hundreds: int) -> None:
    service = windows(bench, window_tokens=1_000, quotas=Defaults())
    before = 0
    for hundred in range(hundreds):
        await append(service, bench, *(f"I keep boat {hundred}-{number}." for number in range(100)))
        held, summed, fallen = await counts(service)
        assert (held + fallen, summed) == (100 * (hundred + 1), fallen)
        assert before <= fallen
        before = fallen
    summaries = await service.summaries("bot", "i")
    assert len(summaries) <= limits.MAX_WINDOW_SUMMARIES
    assert all(len(summary.text.encode()) <= limits.SUMMARY_BYTES for summary in summaries)
    assert before > 100 * hundreds - 1_000


async def test_turns_that_many_append_while_others_fall_are_each_in_the_window_or_in_one_summary(bench: Bench) -> None:
    first, second = windows(bench, reader=ScriptedReader()), windows(bench, reader=ScriptedReader())

    async def say(service: WindowService, number: int) -> None:
        await service.append("bot", "i", [NewMessage("user", f"I keep {number} boats.")], ttl_seconds=3600)
        held, summed, _ = await counts(service)
        assert held + summed <= 40

    await asyncio.gather(*(say(first if number % 2 else second, number) for number in range(40)))
    await append(first, bench, "The newest.")
    held, summed, fallen = await counts(first)
    assert (held + summed, summed) == (41, fallen)
    lines = [line for summary in await first.summaries("bot", "i") for line in summary.text.splitlines()]
    assert len(lines) == len({*lines})
