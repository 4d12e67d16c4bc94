"""What was learned stands for its message: with what held before it, once in an answer, and before what it corrects."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import UpstreamUnavailable
from app.domain.moments import milliseconds, parse_moment
from app.domain.profile_answers import ProfileRecall
from app.domain.reading import Relation
from app.services.answering import answerer as answering
from app.services.profiles.profile import ProfileService
from tests.services.scripted_reader import DOUBTFUL, REPLACES, ScriptedReader
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.learned import Said, learn, say
from tests.support.models import ScriptedModel

AWAY = {"analyse": UpstreamUnavailable("gone"), "synthesise": UpstreamUnavailable("gone")}
DAYS = [milliseconds(parse_moment(f"{day}T10:00:00Z")) for day in ("2026-03-02", "2026-06-15")]
NOW = milliseconds(parse_moment("2026-06-20T10:00:00Z"))
LIMITS = ["The API rate limit is 100 requests per minute.", "The API rate limit is now 250 requests per minute."]
LEARNED_LIMITS = [LIMITS[0], "The API rate limit is 250 requests per minute."]
EDITORS = ["I use the Helix editor.", "I switched from Helix to Zed."]
LEARNED_EDITORS = ["The user uses the Helix editor.", "The user switched from Helix to Zed."]
HOMES = ["I live in Rome.", "I moved to Oslo last week."]
LEARNED_HOMES = ["The user lives in Rome.", "The user moved to Oslo."]


class Told:
    """A profile of which a test tells what was said and what was learned of it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.model = ScriptedModel()
        backends = replace(bench.backends, model=self.model, recall_model_seconds=5.0)
        self.profiles = ProfileService(backends.of_tenant("acme", ADMINISTRATOR))
        self.without = ProfileService(bench.backends.of_tenant("acme", ADMINISTRATOR))

    def read(
        self, answers: Mapping[tuple[str, str], float], pairs: Mapping[tuple[str, str], Relation] | None = None
    ) -> None:
        """Have a reader say how likely texts answer, and how they bear on each other."""
        self.bench.backends = replace(self.bench.backends, reader=ScriptedReader(pairs or {}, answers=answers))
        backends = replace(self.bench.backends, model=self.model)
        self.profiles = ProfileService(backends.of_tenant("acme", ADMINISTRATOR))

    async def say(self, *contents: str) -> list[Said]:
        return [await say(self.bench.backends, content, at) for content, at in zip(contents, DAYS, strict=False)]

    async def learn(self, contents: Sequence[str], said: Sequence[Said], topic: str | None) -> None:
        for content, message, at in zip(contents, said, DAYS, strict=True):
            assert await learn(self.bench.backends, content, [message], at + 1, topic=topic)

    async def ask(self, query: str, **answers: Any) -> ProfileRecall:
        self.model.answers = answers
        return await self.profiles.recall("bot", query, reference_time=NOW)

    async def summary(self) -> str:
        self.model.answers = dict(AWAY)
        return (await self.profiles.summary("bot")).text


@pytest.fixture
async def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Told]:
    monkeypatch.setattr(answering, "MIN_SCORE", 0.1)  # this embedder knows no meaning
    async with bench_on(tmp_path) as bench:
        yield Told(bench)


@pytest.mark.parametrize("topic", [None, "api_rate_limit"])
async def test_what_held_before_a_message_is_told_of_what_was_learned_of_it(told: Told, topic: str | None) -> None:
    query = "What was the API rate limit before?"
    answers = {(query, text): 0.9 for text in (*LIMITS, *LEARNED_LIMITS)}
    told.read(answers, dict.fromkeys([(LIMITS[0], LIMITS[1]), (LEARNED_LIMITS[0], LEARNED_LIMITS[1])], REPLACES))
    await told.learn(LEARNED_LIMITS, await told.say(*LIMITS), topic)
    recall = await told.ask(query, **AWAY)
    assert recall.answer == f"2026-06-15: {LEARNED_LIMITS[1]}\nBefore 2026-06-15: {LIMITS[0]}"
    await told.ask(query)
    (now, before) = told.model.calls[-1].between("memories").splitlines()
    assert now.endswith(LEARNED_LIMITS[1])
    assert before.strip().startswith("before 2026-06-15: ")
    assert before.endswith(LIMITS[0])


@pytest.mark.parametrize(
    "pairs",
    [
        [(EDITORS[0], EDITORS[1]), (LEARNED_EDITORS[0], LEARNED_EDITORS[1])],
        [(LEARNED_EDITORS[0], EDITORS[1])],
    ],
)
async def test_what_corrects_a_message_and_what_was_learned_of_it_goes_before_both(
    told: Told, pairs: Sequence[tuple[str, str]]
) -> None:
    query = "Which editor do I use now?"
    answers = {(query, text): 0.9 for text in (*EDITORS, *LEARNED_EDITORS)}
    told.read(answers, dict.fromkeys(pairs, DOUBTFUL))
    await told.learn(LEARNED_EDITORS, await told.say(*EDITORS), None)
    recall = await told.ask(query, **AWAY)
    assert recall.answer.splitlines()[0] == f"2026-06-15: {LEARNED_EDITORS[1]}"
    assert recall.entries[0].content == LEARNED_EDITORS[1]
    await told.ask(query)
    assert LEARNED_EDITORS[1] in told.model.calls[-1].between("memories").splitlines()[0]


async def test_an_answer_quotes_a_message_that_alone_says_when_and_of_what_held_before_one_of_two(told: Told) -> None:
    query = "Where did I live before?"
    answers = {(query, text): 0.9 for text in (*HOMES, *LEARNED_HOMES)}
    told.read(answers, dict.fromkeys([(HOMES[0], HOMES[1]), (LEARNED_HOMES[0], LEARNED_HOMES[1])], REPLACES))
    await told.learn(LEARNED_HOMES, await told.say(*HOMES), None)
    recall = await told.ask(query, **AWAY)
    now = "2026-06-15: I moved to Oslo last week [2026-06-08 to 2026-06-14]."
    assert recall.answer == f"{now}\nBefore 2026-06-15: {LEARNED_HOMES[0]}"


async def test_an_answer_quotes_what_was_learned_and_not_its_message_again(told: Told) -> None:
    said = await told.say("My sister Petra bakes bread for the whole street, with rye and much patience")
    await learn(told.bench.backends, "Petra, the sister of the user, bakes bread", said, DAYS[0] + 1)
    recall = await told.ask("Who bakes bread?", **AWAY)
    assert recall.answer == "2026-03-02: Petra, the sister of the user, bakes bread"
    assert recall.count == 2


async def test_a_message_of_several_sentences_stays_beside_what_was_learned_of_it(told: Told) -> None:
    message = "Petra bakes bread in Oslo on her own. The oven was a gift of our aunt."
    said = await told.say(message)
    learned = "The sister of the user bakes bread"
    await learn(told.bench.backends, learned, said, DAYS[0] + 1)
    query = "Whose gift was the oven, and who bakes bread?"
    gift = "The oven was a gift of our aunt."
    relevances = {learned: 0.9, message: 0.8, gift: 0.9}
    told.read({(query, text): value for text, value in relevances.items()})
    recall = await told.ask(query, **AWAY)
    assert gift in recall.answer
    assert learned in recall.answer


async def test_without_the_models_words_a_summary_lists_no_message_of_which_something_was_learned(told: Told) -> None:
    await told.learn(LEARNED_EDITORS, await told.say(*EDITORS), None)
    summary = await told.summary()
    assert all(content in summary for content in LEARNED_EDITORS)
    assert not any(content in summary for content in EDITORS)


async def test_a_summary_does_not_call_a_message_what_holds_whose_lesson_a_topic_has_superseded(told: Told) -> None:
    await told.learn(LEARNED_EDITORS, await told.say(*EDITORS), "code_editor")
    assert await told.summary() == f"## What holds\n- 2026-06-15: {LEARNED_EDITORS[1]}"
    assert EDITORS[0] not in told.model.calls[-1].between("memories")


@pytest.mark.parametrize("contents", [LIMITS, EDITORS, HOMES])
async def test_where_nothing_was_learned_a_model_that_is_away_changes_no_word(
    told: Told, contents: Sequence[str]
) -> None:
    await told.say(*contents)
    for query in ("What was the API rate limit before?", "Which editor do I use now?", "Where did I live before?"):
        plain = await told.without.recall("bot", query, reference_time=NOW)
        away = await told.ask(query, **AWAY)
        assert (away.answer, away.entries) == (plain.answer, plain.entries)
    assert await told.summary() == (await told.without.summary("bot")).text
