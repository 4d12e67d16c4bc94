"""Summaries of windows: what falls out is summed up of what was said and nothing else, and only once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.domain import limits
from app.domain.author import Author
from app.domain.errors import InvalidRequest, ReaderUnavailable, Unavailable, UpstreamTimeout
from app.domain.memory import Scope
from app.domain.messages import NewMessage, Role
from app.domain.windows import Summary, Window
from app.ports.database import Row, Statement
from app.runtime.windows import settle_once
from app.services.memories.browse import Browser
from app.services.memories.sessions import Sessions
from app.services.profiles.profile import ProfileService
from app.services.tiers.windows import WindowService
from app.storage.agents import AgentChange
from tests.services.believing_reader import BelievingReader
from tests.services.scripted_reader import EVENT, INSTRUCTION, TASK, ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.memories import expire, memory_rows
from tests.support.scripted_model import Answer, ScriptedModel, at_once, failing
from tests.support.tables import ANY, rows_of

SAID = (
    "I live in Oslo.",
    "It rains a lot today.",
    "Always answer me in Norwegian.",
    "Is it cold?",
    "Send me the invoice of March.",
)
KINDS = {SAID[1]: EVENT, SAID[2]: INSTRUCTION, SAID[4]: TASK}
TELLING = f"user: {SAID[0]}\nuser: {SAID[2]}\nuser: {SAID[4]}"


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench
        await bench.backends.background.close()


def windows(bench: Bench, tenant: str = "acme", author: Author = ADMINISTRATOR, **services: Any) -> WindowService:
    return WindowService(with_changed(bench.backends, **services).of_tenant(tenant, author))


async def append(bench: Bench, *said: str, role: Role = "user", tokens: int | None = None, **services: Any) -> None:
    """Append messages one by one, and wait each time for what falls out; the window keeps one of them."""
    given = {"window_tokens": 1, **services}
    for content in said:
        message = NewMessage(role, content, tokens=tokens)
        await windows(bench, **given).append("bot", "i", [message], ttl_seconds=3600)
        while tasks := list(bench.backends.background._tasks):  # noqa: SLF001 - nothing else tells
            await asyncio.wait(tasks)


async def window(bench: Bench, **services: Any) -> Window:
    return await windows(bench, **services).window("bot", "i", max_tokens=200_000)


async def summaries(bench: Bench) -> Sequence[Summary]:
    return (await window(bench)).summaries


async def texts(bench: Bench) -> list[str]:
    return [summary.text for summary in await summaries(bench)]


async def ids_of(bench: Bench, *contents: str) -> list[str]:
    rows = await memory_rows(bench, "id", "content", message_id=ANY)
    by_content = {str(row["content"]): str(row["id"]) for row in rows}
    return [by_content[content] for content in contents]


def model(answer: Answer | Sequence[tuple[str, Sequence[int]]]) -> ScriptedModel:
    """Return a model that sums up as it is told, with sentences and the numbers of the lines that they cite."""
    if callable(answer):
        return ScriptedModel({"synthesise": answer})
    sentences = [{"text": text, "memories": list(cited)} for text, cited in answer]
    return ScriptedModel({"synthesise": lambda _: {"sentences": sentences}})


async def test_a_summary_names_its_turns_and_the_memories_that_they_are(bench: Bench) -> None:
    await append(bench, *SAID, "The newest stays.", reader=ScriptedReader(of_kinds=KINDS))
    found = await window(bench)
    (summary,) = found.summaries
    assert [turn.content for turn in found.turns] == ["The newest stays."]
    assert (summary.text, summary.made_by, summary.turns) == (TELLING, "reader", 5)
    assert found.state is not None
    assert (summary.since, summary.until) == (found.state.fallen_since, found.state.fallen_until)
    assert summary.id == f"{summary.first_place}-{summary.last_place}"
    assert summary.memories == await ids_of(bench, SAID[0], SAID[2], SAID[4], SAID[1], SAID[3])


async def test_a_question_or_a_single_word_tells_a_reader_nothing(bench: Bench) -> None:
    await append(bench, "Noted. Where do you live? I live in Oslo.", "The newest stays.", reader=ScriptedReader())
    assert await texts(bench) == ["user: I live in Oslo."]


async def test_a_window_of_nothing_to_tell_has_a_summary_without_a_text(bench: Bench) -> None:
    await append(bench, SAID[1], "The newest stays.", reader=ScriptedReader(of_kinds=KINDS))
    (summary,) = await summaries(bench)
    assert (summary.text, summary.turns, summary.memories) == ("", 1, await ids_of(bench, SAID[1]))


async def test_without_a_reader_the_first_sentences_stand(bench: Bench) -> None:
    await append(bench, "One. Two.", "Three?", "The newest stays.", reader=None)
    (summary,) = await summaries(bench)
    assert (summary.text, summary.made_by) == ("user: One.\nuser: Two.\nuser: Three?", "sentences")


async def test_who_said_it_stands_before_a_sentence(bench: Bench) -> None:
    await append(bench, "Ann: I sell boats.", reader=None)
    await append(bench, "I look for it.", role="assistant", reader=None)
    await append(bench, "The newest stays.", reader=None)
    assert await texts(bench) == ["Ann: I sell boats.\nassistant: I look for it."]


async def test_a_reader_that_is_away_leaves_the_first_sentences(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.tiers.window_summaries._PAUSE", 0.0)
    await append(bench, *SAID[:2], reader=ScriptedReader(error=ReaderUnavailable("It is away.")))
    (summary,) = await summaries(bench)
    assert (summary.text, summary.made_by) == (f"user: {SAID[0]}", "sentences")


async def test_a_script_that_the_reader_does_not_know_is_not_guessed_at(bench: Bench) -> None:
    said = "\u79c1\u306f\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059\u3002"
    await append(bench, said, "The newest stays.", reader=ScriptedReader(of_kinds={said: EVENT}))
    assert await texts(bench) == [f"user: {said}"]


async def test_a_model_sums_up_what_fell_out_and_cites_it(bench: Bench) -> None:
    asked = model([("The user lives in Oslo.", [1])])
    await append(bench, *SAID[:2], model=asked, reader=BelievingReader())
    (summary,) = await summaries(bench)
    assert (summary.text, summary.made_by) == ("The user lives in Oslo.", "model")
    assert [list(each.memories) for each in summary.sentences] == [await ids_of(bench, SAID[0])]
    assert asked.calls["synthesise"] == 1


async def test_what_a_model_claims_that_no_turn_says_is_dropped(bench: Bench) -> None:
    lies = [
        ("The user lives in Oslo.", [1]),
        ("The user lives in Monaco.", [1]),
        ("The user has lived in Oslo for 47 years.", [1]),
        ("The user does not live in Oslo.", [1]),
        ("The user owns a yacht.", [1]),
        ("The user lives in Oslo with cats.", [9]),
    ]
    await append(bench, *SAID[:2], model=model(lies), reader=BelievingReader())
    (summary,) = await summaries(bench)
    assert (summary.text, summary.made_by) == ("The user lives in Oslo.", "model")


NONSENSE: Sequence[Answer] = (
    lambda _: {"sentences": [{"text": "The user owns a yacht.", "memories": [1]}]},
    lambda _: {"sentences": []},
    lambda _: {"sentences": "no list"},
    lambda _: "nonsense",
    failing(at_once(Unavailable("The model is away."))),
    failing(at_once(UpstreamTimeout("It took too long."))),
)


@pytest.mark.parametrize("answer", NONSENSE)
async def test_where_a_model_says_nothing_of_use_the_sentences_of_the_reader_stand(
    bench: Bench, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.models.model_calls._FIRST_PAUSE", 0.01)
    await append(bench, *SAID[:2], model=model(answer), reader=BelievingReader(of_kinds=KINDS))
    (summary,) = await summaries(bench)
    assert (summary.text, summary.made_by) == (f"user: {SAID[0]}", "reader")


async def test_a_model_that_takes_too_long_is_not_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.tiers.window_summaries.MODEL_SECONDS", 0.0)
    asked = model([("The user lives in Oslo.", [1])])
    await append(bench, *SAID[:2], model=asked, reader=BelievingReader(of_kinds=KINDS))
    (summary,) = await summaries(bench)
    assert (summary.text, summary.made_by) == (f"user: {SAID[0]}", "reader")


@pytest.mark.parametrize("reader", [None, ScriptedReader()])
async def test_of_one_giant_turn_a_summary_is_bounded_and_ends_with_a_sentence(bench: Bench, reader: Any) -> None:
    giant = " ".join(f"I keep {number} boats in the harbour of Oslo." for number in range(750))
    assert len(giant) > 30_000
    await append(bench, giant, "The newest stays.", reader=reader)
    (summary,) = await summaries(bench)
    assert 900 < len(summary.text.encode()) <= limits.SUMMARY_BYTES
    assert all(line.endswith("boats in the harbour of Oslo.") for line in summary.text.splitlines())


@pytest.mark.parametrize("reader", [None, ScriptedReader()])
async def test_a_sentence_without_an_end_is_not_told_in_part(bench: Bench, reader: Any) -> None:
    await append(bench, f"I live in Oslo. I never want {'boats and ' * 3_000}", "The newest stays.", reader=reader)
    assert await texts(bench) == ["user: I live in Oslo."]


async def test_a_model_reads_all_of_a_giant_turn_in_parts(bench: Bench) -> None:
    giant = "It rains. " * 3_000 + "I live in Oslo."
    asked = model(lambda text: {"sentences": [{"text": "The user lives in Oslo.", "memories": [_line(text, "Oslo")]}]})
    await append(bench, giant, "The newest stays.", model=asked, reader=BelievingReader())
    (summary,) = await summaries(bench)
    assert (summary.text, summary.made_by) == ("The user lives in Oslo.", "model")


def _line(text: str, word: str) -> int:
    """Return the number of the line that has a word; 1 where none has."""
    return next((int(line[1:].split(")")[0]) for line in text.splitlines() if line[:1] == "(" and word in line), 1)


async def test_more_summaries_than_a_window_may_hold_become_fewer_and_name_all_turns(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WINDOW_SUMMARIES", 4)
    monkeypatch.setattr(limits, "MERGED_SUMMARIES", 2)
    monkeypatch.setattr(limits, "SUMMARY_TURNS", 2)
    said = [f"I keep {number} boats." for number in range(23)]
    for number, content in enumerate(said):
        await append(bench, content, reader=ScriptedReader())
        found = await window(bench)
        assert len(found.summaries) <= 4
        assert sum(summary.turns for summary in found.summaries) == number
    places = [(summary.first_place, summary.last_place) for summary in await summaries(bench)]
    assert all(before[1] < after[0] for before, after in pairwise(places))
    lines = "\n".join(await texts(bench)).splitlines()
    assert lines == [f"user: {content}" for content in said[:-1]]


async def test_of_merged_summaries_the_most_telling_sentences_stay(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WINDOW_SUMMARIES", 2)
    monkeypatch.setattr(limits, "MERGED_SUMMARIES", 2)
    monkeypatch.setattr(limits, "SUMMARY_TURNS", 1)
    monkeypatch.setattr(limits, "SUMMARY_BYTES", 60)
    kinds = {"I keep a small boat.": replace(EVENT, fact=0.6, event=0.4)}
    said = ["I keep a small boat.", "I live in Oslo.", "I work in Bergen.", "I sleep.", "The newest stays."]
    await append(bench, *said, reader=ScriptedReader(of_kinds=kinds))
    assert await texts(bench) == ["user: I live in Oslo.\nuser: I work in Bergen.", "user: I sleep."]


async def test_a_model_sums_up_summaries_from_what_they_say(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_WINDOW_SUMMARIES", 2)
    monkeypatch.setattr(limits, "MERGED_SUMMARIES", 2)
    monkeypatch.setattr(limits, "SUMMARY_TURNS", 1)
    reader = ScriptedReader()
    await append(bench, *SAID[:3], reader=reader)
    asked = model([("The user lives in Oslo.", [1]), ("The user lives in Monaco.", [1])])
    await append(bench, SAID[4], model=asked, reader=BelievingReader())
    merged, _ = await summaries(bench)
    assert (merged.text, merged.made_by, merged.turns) == ("The user lives in Oslo.", "model", 2)
    assert set(merged.memories) == set(await ids_of(bench, *SAID[:2]))


class Losing:
    """A database that executes one of the runs that let turns fall so many times; below two, its answer is lost."""

    def __init__(self, inner: Any, *, fall: int, times: int) -> None:
        self.inner, self.fall, self.times, self.falls = inner, fall, times, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        rows: list[list[Row]] = []
        self.falls += (falls := any("working_fall" in statement.sql for statement in statements))
        is_lost = falls and self.falls == self.fall
        for _ in range(self.times if is_lost else 1):
            rows = await self.inner.run(statements)
        if is_lost and self.times < 2:
            raise UpstreamTimeout("The connection broke.")
        return rows


@pytest.mark.parametrize("fall", [1, 2])
@pytest.mark.parametrize("times", [0, 1, 2])
async def test_a_summary_that_was_broken_off_is_made_again_and_never_twice(bench: Bench, fall: int, times: int) -> None:
    losing = Losing(bench.backends.database, fall=fall, times=times)
    for content in SAID[:3]:
        await append(bench, content, reader=ScriptedReader(), database=losing)
        bench.later(300)
        await settle_once(with_changed(bench.backends, window_tokens=1, reader=ScriptedReader()))
    assert losing.falls >= fall
    found = await window(bench)
    assert [(summary.text, summary.turns) for summary in found.summaries] == [(f"user: {SAID[0]}\nuser: {SAID[1]}", 2)]
    assert [turn.content for turn in found.turns] == [SAID[2]]
    assert found.state is not None
    assert found.state.fallen == 2


async def test_what_is_deleted_or_forgotten_stands_in_no_summary(bench: Bench) -> None:
    await append(bench, *SAID, "The newest stays.", reader=ScriptedReader(of_kinds=KINDS))
    oslo, norwegian, invoice = await ids_of(bench, SAID[0], SAID[2], SAID[4])
    await bench.gateway.delete("bot", oslo)
    (summary,) = await summaries(bench)
    assert (summary.text, oslo in summary.memories) == (f"user: {SAID[2]}\nuser: {SAID[4]}", False)
    assert not any(SAID[0] in str(row) for row in await rows_of(bench, "working_summary", "sentences"))
    await ProfileService(bench.backends.of_tenant("acme", ADMINISTRATOR)).forget("bot", norwegian)
    assert await texts(bench) == [f"user: {SAID[4]}"]
    await expire(bench, id=invoice)
    (summary,) = await summaries(bench)
    assert (summary.text, summary.turns) == ("", 5)


async def test_what_is_deleted_while_a_summary_is_made_is_not_written_again(bench: Bench) -> None:
    reader = ScriptedReader()
    await append(bench, *SAID[:2], reader=reader)
    (oslo,) = await ids_of(bench, SAID[0])

    async def delete() -> None:
        await bench.gateway.delete("bot", oslo)

    await append(bench, SAID[2], reader=ScriptedReader(meanwhile=delete))
    assert not any("Oslo" in str(row) for row in await rows_of(bench, "working_summary", "sentences"))
    bench.later(300)
    await settle_once(with_changed(bench.backends, window_tokens=1, reader=reader))
    assert await texts(bench) == [f"user: {SAID[1]}"]
    assert sum(summary.turns for summary in await summaries(bench)) == 2


async def test_summaries_go_with_their_window_and_with_their_session(bench: Bench) -> None:
    asked = model([("The user lives in Oslo.", [1])])
    await append(bench, *SAID[:3], reader=ScriptedReader())
    assert await summaries(bench)
    bench.later(3601)
    idle = replace(bench.backends, model=asked)
    assert await settle_once(idle) == 1
    assert (await summaries(bench), asked.calls["synthesise"]) == ([], 0)
    await append(bench, *SAID[3:], "The newest stays.", reader=ScriptedReader())
    assert await summaries(bench)
    await Sessions(bench.backends.of_tenant("acme", ADMINISTRATOR)).delete(Scope("acme", "bot"), "i")
    assert await summaries(bench) == []


async def test_what_long_term_memory_refuses_is_not_summed_up(bench: Bench) -> None:
    await Browser(bench.backends.of_tenant("acme", ADMINISTRATOR)).set_agent(
        "bot", AgentChange(long_term_enabled=False)
    )
    await append(bench, *SAID[:3], reader=ScriptedReader())
    found = await window(bench)
    assert ([turn.content for turn in found.turns], found.summaries) == ([SAID[2]], [])


async def test_summaries_are_of_one_instance_of_one_agent_of_one_tenant(bench: Bench) -> None:
    await append(bench, *SAID[:2], reader=ScriptedReader())
    for tenant, agent, instance in (("globex", "bot", "i"), ("acme", "other", "i"), ("acme", "bot", "j")):
        assert (await windows(bench, tenant).window(agent, instance)).summaries == []
        assert await windows(bench, tenant).summaries(agent, instance) == []


async def test_a_window_keeps_so_many_tokens_as_their_callers_told_them(bench: Bench) -> None:
    await append(bench, "a", "b", "c", tokens=40, window_tokens=100)
    found = await window(bench)
    assert [(turn.content, turn.tokens) for turn in found.turns] == [("b", 40), ("c", 40)]
    assert (found.tokens, found.counted) == (80, "told")
    assert found.state is not None
    assert found.state.tokens == 80
    await append(bench, "four", window_tokens=100)
    found = await window(bench, window_tokens=100)
    assert ([turn.told for turn in found.turns], found.tokens, found.counted) == ([True, True, False], 81, "estimated")


async def test_the_newest_message_stays_whatever_tokens_it_has(bench: Bench) -> None:
    await append(bench, "a", tokens=200_000, window_tokens=100)
    assert [turn.content for turn in (await window(bench)).turns] == ["a"]
    await append(bench, "b", tokens=1, window_tokens=100)
    assert [turn.content for turn in (await window(bench)).turns] == ["b"]


async def test_a_read_without_a_bound_gives_as_many_tokens_as_a_window_keeps(bench: Bench) -> None:
    await append(bench, "a", "b", "c", tokens=40, window_tokens=1_000)
    service = windows(bench, window_tokens=80)
    found = await service.window("bot", "i")
    assert ([turn.content for turn in found.turns], found.older) == (["b", "c"], 1)


@pytest.mark.parametrize("tokens", [0, -1, 200_001])
async def test_tokens_outside_their_bounds_are_refused_by_name(bench: Bench, tokens: int) -> None:
    said = [NewMessage("user", "a"), NewMessage("user", "b", tokens=tokens)]
    with pytest.raises(InvalidRequest) as caught:
        await windows(bench).append("bot", "i", said, ttl_seconds=60)
    assert [each.field for each in caught.value.errors] == ["messages.1.tokens"]
