"""A profile is an agent's memory: what is remembered is recalled, answered with, listed and summarised."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.domain.errors import (
    EmbeddingUnavailable,
    InvalidRequest,
    LongTermDisabled,
    NotFound,
    QuotaExceeded,
    ReaderUnavailable,
)
from app.domain.json_types import Json
from app.domain.memory import Memory, NewMemory
from app.domain.moments import milliseconds
from app.domain.profile_answers import ProfileSummary, ResponseLength
from app.domain.query import Query
from app.domain.reading import Kinds
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.profiles.profile import ProfileService
from app.services.turns.admission import Admission
from tests.services.profiles.test_forgetting import tell
from tests.services.scripted_reader import DOUBTFUL, FACT, INSTRUCTION, REPLACES, TASK, ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.learned import compare
from tests.support.memories import set_memories
from tests.support.scopes import retain, switch
from tests.support.tables import delete_rows

DAY = 86_400_000
LENGTHS: Sequence[ResponseLength] = ("short", "medium", "long")


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


@pytest.fixture
def profiles(bench: Bench) -> ProfileService:
    return of(bench, "acme")


def of(bench: Bench, tenant_id: str) -> ProfileService:
    return ProfileService(bench.backends.of_tenant(tenant_id, ADMINISTRATOR))


async def listed(profiles: ProfileService, **asked: object) -> list[str]:
    page = await profiles.list("bot", limit=100, after=None, **asked)  # type: ignore[arg-type]
    return [memory.content for memory in page.items]


async def recalled(bench: Bench, query: str, **asked: object) -> list[str]:
    recall = await bench.gateway.recall("bot", Query(query, top_k=20, **asked))  # type: ignore[arg-type]
    return [entry.content for entry in recall.entries]


async def test_what_is_remembered_has_a_type_and_is_recalled_and_listed(bench: Bench, profiles: ProfileService) -> None:
    memory = await profiles.remember("bot", "I live in Rome", session_id="s1", occurred_at=DAY)
    assert (memory.content, memory.type, memory.session_id, memory.occurred_at) == ("I live in Rome", "fact", "s1", DAY)
    reading(bench, {}).answers = {("Where do I live?", memory.content): 0.9}
    recall = await of(bench, "acme").recall("bot", "Where do I live?")
    assert "Rome" in recall.answer
    (candidate,) = recall.entries
    assert (candidate.id, candidate.content, candidate.session_id) == (memory.id, "I live in Rome", "s1")
    assert await listed(profiles) == await recalled(bench, "Rome") == ["I live in Rome"]


REPORT = "I need to file the report by Friday"


def reading(bench: Bench, kinds: Mapping[str, Kinds]) -> ScriptedReader:
    reader = ScriptedReader(of_kinds=kinds)
    bench.backends = replace(bench.backends, reader=reader)
    return reader


async def test_what_a_reader_calls_a_task_expires_after_seven_days_where_it_names_a_day(bench: Bench) -> None:
    reading(bench, dict.fromkeys((REPORT, "I must go there tomorrow", "Renew the passport"), TASK))
    now = bench.backends.clock()
    for content in (REPORT, "I must go there tomorrow", f"{REPORT}\nI must go there tomorrow"):
        task = await of(bench, "acme").remember("bot", content)
        assert task.expires_at is not None
        assert 6 * DAY < task.expires_at - now < 8 * DAY
    assert (await of(bench, "acme").remember("bot", "Renew the passport")).expires_at is None
    told = await of(bench, "acme").remember("bot", "Renew the passport now", expires_at=now + 30 * DAY)
    assert told.expires_at == now + 30 * DAY


@pytest.mark.parametrize(
    "kinds", [FACT, INSTRUCTION, Kinds(0.1, 0.1, 0.1, 0.7)], ids=["fact", "instruction", "hardly a task"]
)
async def test_what_a_reader_does_not_surely_call_a_task_is_kept(bench: Bench, kinds: Kinds) -> None:
    reading(bench, {REPORT: kinds, "I must go there tomorrow": TASK})
    assert (await of(bench, "acme").remember("bot", REPORT)).expires_at is None
    both = f"I must go there tomorrow\n{REPORT}"
    assert (await of(bench, "acme").remember("bot", both)).expires_at is None


async def test_without_a_reader_or_while_it_is_away_nothing_expires_by_itself(
    bench: Bench, profiles: ProfileService
) -> None:
    assert (await profiles.remember("bot", REPORT)).expires_at is None
    reading(bench, {REPORT: TASK}).error = ReaderUnavailable("It is closed.")
    assert (await of(bench, "acme").remember("bot", f"{REPORT} ")).expires_at is None


LASTING = [
    "Take out the bins every Monday",
    "Water the plants weekly, on Sunday",
    "Varje måndag måste jag ringa mamma",
    "Ich muss jeden Freitag zum Training",
    "Visitors must sign in at the front desk",
    "I need to wear glasses",
    "We have to use the side door",
    "Releases must be announced on the last Friday of the month",
    "Ich muss noch eine Brille tragen",
    "Jag måste ha glasögon",
    "I have to take the pill every Friday",
    "I need to be there on Mondays",
]


@pytest.mark.parametrize("content", LASTING)
async def test_a_duty_without_a_day_or_that_comes_again_is_kept(bench: Bench, content: str) -> None:
    reading(bench, {content: TASK})
    assert (await of(bench, "acme").remember("bot", content)).expires_at is None


async def test_a_task_is_kept_until_the_day_that_it_names(bench: Bench) -> None:
    content = "We have to file the taxes by 12 October 2999"
    reading(bench, {content: TASK})
    task = await of(bench, "acme").remember("bot", content)
    assert task.expires_at == int(datetime(2999, 10, 13, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("content", "expires"),
    [
        ("I must renew it on 20 June", "2898-06-21"),
        ("I must be at the fair on 20-22 June", "2898-06-23"),
        ("I must renew it on 2 January", "2899-01-03"),
        ("I must pay it by 5/6/2899", "2899-06-06"),
        ("I must go there next Friday", "2898-02-15"),
        ("I must call them by the end of next week", "2898-02-17"),
        ("I must be there in the week of 12 May 2899", "2899-05-18"),
        ("I must pay it by 9999-12-31", "9999-12-31T23:59:59.999"),
    ],
)
async def test_a_task_of_which_the_day_is_not_sure_is_kept_until_the_last_that_it_may_mean(
    bench: Bench, content: str, expires: str
) -> None:
    reading(bench, {content: TASK})
    monday = int(datetime(2898, 2, 3, 9, tzinfo=UTC).timestamp() * 1000)
    bench.backends = replace(bench.backends, clock=lambda: monday)
    task = await of(bench, "acme").remember("bot", content, occurred_at=monday)
    assert task.expires_at == milliseconds(datetime.fromisoformat(expires).replace(tzinfo=UTC))


async def test_a_task_of_which_the_last_day_is_not_known_is_kept(bench: Bench) -> None:
    content = "I must do it today, and again half a year from now"
    reading(bench, {content: TASK})
    assert (await of(bench, "acme").remember("bot", content)).expires_at is None


async def test_a_task_is_kept_no_longer_than_its_agents_memories(bench: Bench) -> None:
    await retain(bench.backends, 2)
    content = "I need to submit the tax form by 12 October 2999"
    reading(bench, {content: TASK})
    task = await of(bench, "acme").remember("bot", content)
    assert task.expires_at is not None
    assert task.expires_at - bench.backends.clock() <= 2 * DAY


CHAT = [
    ("user", "Set up the project with React and TypeScript."),
    ("assistant", "Done. Scaffolded a React + TypeScript project targeting Workers."),
    ("user", "Use pnpm, not npm. And dark mode by default."),
    ("assistant", "Got it -- pnpm and dark mode as default."),
]


async def test_the_package_manager_of_four_messages_is_answered(bench: Bench) -> None:
    question = "What package manager does the user prefer?"
    said = {CHAT[2][1]: 0.9, "Use pnpm, not npm.": 0.95, CHAT[3][1]: 0.3}
    reading(bench, {}).answers = {(question, text): relevance for text, relevance in said.items()}
    for number, (role, content) in enumerate(CHAT):
        metadata: dict[str, Json] = {} if role == "user" else {"speaker": role}
        await bench.gateway.store("bot", NewMemory(content, metadata, "chat", DAY + number))
    recall = await of(bench, "acme").recall("bot", question, length="short")
    assert recall.answer == "1970-01-02: Use pnpm, not npm."
    assert recall.entries[0].content == CHAT[2][1]
    assert recall.count == len(recall.entries)


async def test_an_answer_says_what_held_before(bench: Bench, profiles: ProfileService) -> None:
    for day, place in ((1, "Rome"), (40, "Oslo")):
        await tell(bench, f"I live in {place}", occurred_at=day * DAY)
    recall = await profiles.recall("bot", "Where do I live?")
    assert recall.answer == "1970-02-10: I live in Oslo\nBefore 1970-02-10: I live in Rome"
    assert [candidate.content for candidate in recall.entries] == ["I live in Oslo"]
    then = await profiles.recall("bot", "Where do I live?", as_of=2 * DAY)
    assert then.answer == "1970-01-02: I live in Rome"


async def test_with_a_reader_the_newest_that_holds_is_told_and_what_held_before_behind_it(bench: Bench) -> None:
    question, rome, oslo = "Where did I live earlier?", "I live in Rome.", "I can see the fjord from my kitchen now."
    other = "My sister lives in Rome."
    reader = reading(bench, {})
    reader.pairs = {(rome, oslo): REPLACES}
    reader.answers = {(question, rome): 0.9, (question, oslo): 0.3, (question, other): 0.1}
    profiles = of(bench, "acme")
    for day, content in enumerate((rome, other, oslo)):
        await profiles.remember("bot", content, occurred_at=(60 + 50 * day) * DAY)
    for length in LENGTHS:
        recall = await profiles.recall("bot", question, length=length)
        told = [f"1970-06-10: {oslo}", f"Before 1970-06-10: {rome}"]
        assert recall.answer.splitlines() == (told[:1] if length == "short" else told)
        assert [candidate.content for candidate in recall.entries] == [oslo, other]
        first = await LongTermMemoryGateway(bench.backends.of_tenant("acme", ADMINISTRATOR)).recall(
            "bot", Query(question)
        )
        assert first.entries[0].id == recall.entries[0].id


async def test_with_a_reader_nothing_is_told_where_nothing_answers_and_the_candidates_are_given(bench: Bench) -> None:
    question, text = "Where does Rosa live?", "Rosa prefers window seats"
    reading(bench, {}).answers = {(question, text): 0.2}
    await of(bench, "acme").remember("bot", text)
    recall = await of(bench, "acme").recall("bot", question)
    assert (recall.answer, recall.count, list(recall.cited)) == ("", 1, [])


async def test_while_the_reader_is_away_the_answer_is_the_one_without_it_and_says_so(
    bench: Bench, profiles: ProfileService
) -> None:
    await profiles.remember("bot", "I live in Rome", occurred_at=DAY)
    reading(bench, {}).error = ReaderUnavailable("It is closed.")
    recall = await of(bench, "acme").recall("bot", "Where do I live?")
    assert (recall.answer, list(recall.degraded)) == ("1970-01-02: I live in Rome", ["reader_unavailable"])


async def test_of_a_long_memory_the_sentence_is_told_that_answers(bench: Bench) -> None:
    question = "What is the wifi password?"
    text = "Key is under the third pot. The wifi password is otter-lamp-93. Turn the water off."
    sentence = "The wifi password is otter-lamp-93."
    reading(bench, {}).answers = {(question, text): 0.9, (question, sentence): 0.8}
    await of(bench, "acme").remember("bot", text, occurred_at=DAY)
    recall = await of(bench, "acme").recall("bot", question, length="long")
    assert recall.answer == "1970-01-02: The wifi password is otter-lamp-93."


async def test_what_perhaps_holds_no_longer_comes_behind_and_is_not_quoted_as_what_holds(bench: Bench) -> None:
    query, old = "Who does my hair?", "Suzi does my hair."
    new, sentence = (
        "Suzi moved to Spain. Dominik has been doing my hair since.",
        "Dominik has been doing my hair since.",
    )
    reader = reading(bench, {})
    reader.pairs = {(old, new): DOUBTFUL}
    reader.answers = dict.fromkeys(((query, old), (query, new), (query, sentence)), 0.9)
    profiles = of(bench, "acme")
    await profiles.remember("bot", old, occurred_at=DAY)
    assert (await profiles.recall("bot", query)).answer == f"1970-01-02: {old}"
    await profiles.remember("bot", new, occurred_at=40 * DAY)
    for length in ("short", "medium", "long"):
        recall = await profiles.recall("bot", query, length=length)
        assert recall.answer.splitlines()[0] == f"1970-02-10: {sentence}"
        assert f"1970-01-02: {old}" not in recall.answer.splitlines()
        assert [candidate.content for candidate in recall.entries] == [new, old]
    then = await profiles.recall("bot", query, as_of=2 * DAY)
    assert then.answer == f"1970-01-02: {old}"


async def test_without_a_reader_the_newer_of_what_is_equally_near_comes_first(profiles: ProfileService) -> None:
    texts = ("Nora: the hall is booked", "nora: The hall is booked", "NORA: the hall is booked")
    for day, text in ((3, texts[0]), (9, texts[1]), (5, texts[2])):
        await profiles.remember("bot", text, occurred_at=day * DAY)
    recall = await profiles.recall("bot", "Who booked the hall?")
    assert recall.entries[0].content == texts[1]


async def test_what_is_said_beside_a_statement_leaves_it_quoted(profiles: ProfileService) -> None:
    texts = ("Suzi does my hair.", "Dominik, from the shop at the corner of the market, does my sister's hair.")
    for day, text in enumerate(texts, 1):
        await profiles.remember("bot", text, occurred_at=day * DAY)
    recall = await profiles.recall("bot", "Who does my hair?", length="long")
    assert f"1970-01-02: {texts[0]}" in recall.answer


async def test_where_nothing_is_found_there_is_no_candidate_and_what_is_far_is_one_without_an_answer(
    profiles: ProfileService,
) -> None:
    assert (await profiles.recall("bot", "Who won the world cup?")).entries == []
    await profiles.remember("bot", "The cat is black")
    recall = await profiles.recall("bot", "Who won the tournament?")
    assert (recall.answer, recall.count, list(recall.degraded)) == ("", 1, [])
    assert 0 < recall.entries[0].score < 0.1
    assert (await profiles.recall("bot", "quartz xylophone")).entries == []


async def test_where_a_channel_is_away_candidates_are_not_left_out_for_their_score(
    bench: Bench, profiles: ProfileService
) -> None:
    await profiles.remember("bot", "The cat is black, and it sleeps on the balcony of the neighbours all day")
    bench.embedder.error = EmbeddingUnavailable("away")
    recall = await profiles.recall("bot", "Who has ever seen all these cats there?")
    assert (recall.count, list(recall.degraded)) == (1, ["embedder_unavailable"])


async def test_a_longer_answer_rests_on_more_candidates(profiles: ProfileService) -> None:
    for number in range(25):
        await profiles.remember("bot", f"The cat {number} is black")
    counts = [(await profiles.recall("bot", "black cat", length=length)).count for length in LENGTHS]
    assert counts == [5, 10, 20]


async def test_a_recall_of_a_profile_asks_the_index_once_and_the_database_once_more_for_instructions(
    bench: Bench, profiles: ProfileService
) -> None:
    await tell(bench, "I live in Rome", occurred_at=DAY)
    await tell(bench, "I live in Oslo", occurred_at=2 * DAY)
    bench.database.journal.clear()
    await profiles.recall("bot", "Where did I live before?")
    assert bench.database.journal == ["index.query", "database.run", "database.run"]


async def test_too_long_a_query_is_refused_by_its_name(profiles: ProfileService) -> None:
    with pytest.raises(InvalidRequest, match="query has 1025 bytes") as caught:
        await profiles.recall("bot", "x" * 1025)
    assert caught.value.errors[0].field == "query"


async def test_a_summary_is_of_what_holds_in_one_session_or_in_all(bench: Bench, profiles: ProfileService) -> None:
    await tell(bench, "I live in Rome", session_id="s1", occurred_at=DAY)
    await tell(bench, "I live in Oslo", session_id="s1", occurred_at=2 * DAY)
    gone = await profiles.remember("bot", "My cat is called Tom", session_id="s1", occurred_at=2 * DAY)
    await profiles.remember("bot", "Always run the tests first", session_id="s2", occurred_at=3 * DAY)
    await profiles.forget("bot", gone.id)
    text = (await profiles.summary("bot")).text
    assert "Oslo" in text
    assert "tests" in text
    assert "Rome" not in text
    assert "Tom" not in text
    assert "tests" not in (await profiles.summary("bot", "s1")).text
    assert await profiles.summary("bot", "other") == await profiles.summary("other") == ProfileSummary("")


async def test_a_summary_counts_as_a_recall(bench: Bench) -> None:
    backends = replace(bench.backends, admission=Admission(agent_recalls=1)).of_tenant("acme", ADMINISTRATOR)
    service = ProfileService(backends)
    await service.summary("bot")
    with pytest.raises(QuotaExceeded):
        await service.summary("bot")


async def test_a_memory_that_is_a_message_names_it_as_its_source(bench: Bench, profiles: ProfileService) -> None:
    stored = NewMemory("Done, pnpm is set up.", {"speaker": "assistant"}, "chat", DAY)
    memory_id = await bench.gateway.store("bot", stored)
    await set_memories(bench, {"message_id": "709a63a769b71784720db39aedab3274"})
    (source,) = (await profiles.get("bot", memory_id)).sources
    assert (source.role, source.session_id, source.said_at) == ("assistant", "chat", DAY)


async def test_the_versions_of_what_a_memory_states_come_oldest_first(bench: Bench, profiles: ProfileService) -> None:
    said: Sequence[Memory] = [
        await tell(bench, f"I live in {place}", occurred_at=day * DAY)
        for day, place in ((1, "Rome"), (2, "Oslo"), (3, "Rome"))
    ]
    for memory in said:
        detail = await profiles.get("bot", memory.id)
        assert [(one.memory_id, one.superseded_at) for one in detail.versions] == [
            (said[0].id, 2 * DAY),
            (said[1].id, 3 * DAY),
            (said[2].id, None),
        ]
        assert detail.sources == []


async def test_a_memory_of_another_profile_or_tenant_is_not_there(bench: Bench, profiles: ProfileService) -> None:
    memory = await profiles.remember("bot", "I live in Rome")
    for service, agent_id in ((profiles, "other"), (of(bench, "other"), "bot")):
        for verb in (service.get, service.forget, service.unforget):
            with pytest.raises(NotFound):
                await verb(agent_id, memory.id)
        assert (await service.list(agent_id, limit=5, after=None)).items == []
        assert (await service.recall(agent_id, "Rome")).entries == []
    assert (await profiles.get("bot", memory.id)).memory == memory


async def test_an_agent_whose_memory_is_switched_off_neither_lists_nor_forgets(
    bench: Bench, profiles: ProfileService
) -> None:
    memory = await profiles.remember("bot", "I live in Rome")
    await switch(bench.backends, on=False)
    for call in (
        profiles.remember("bot", "I live in Oslo"),
        profiles.recall("bot", "Rome"),
        profiles.list("bot", limit=5, after=None),
        profiles.get("bot", memory.id),
        profiles.forget("bot", memory.id),
        profiles.unforget("bot", memory.id),
    ):
        with pytest.raises(LongTermDisabled):
            await call
    await delete_rows(bench, "agent")
    assert (await profiles.get("bot", memory.id)).memory.forgotten_at is None


async def test_pages_follow_each_other_and_end(profiles: ProfileService) -> None:
    contents = [f"note number {number}" for number in range(5)]
    for content in contents:
        await profiles.remember("bot", content)
    seen, after = list[str](), None
    for _ in range(3):
        page = await profiles.list("bot", limit=2, after=after)
        seen += [memory.content for memory in page.items]
        after = page.after
    assert (seen, after) == (contents[::-1], None)


@pytest.mark.thorough
async def test_a_page_of_large_memories_is_shorter_and_goes_on(profiles: ProfileService) -> None:
    for number in range(130):
        await profiles.remember("bot", f"{number} " + "word " * 6550)
    seen, after, pages = 0, None, 0
    while pages == 0 or after is not None:
        page = await profiles.list("bot", limit=200, after=after)
        seen, after, pages = seen + len(page.items), page.after, pages + 1
    assert (seen, pages) == (130, 2)


async def test_a_list_is_of_one_session_and_of_one_type_where_asked(bench: Bench, profiles: ProfileService) -> None:
    await profiles.remember("bot", "I live in Rome", session_id="s1")
    await profiles.remember("bot", "Always run the tests first", session_id="s2")
    await compare(bench, ScriptedReader(of_kinds={"Always run the tests first": INSTRUCTION}))
    await bench.gateway.store("bot", NewMemory("a row of a program", {"store.key": "k"}, "s1"))
    assert await listed(profiles, session_id="s1") == await listed(profiles, type="fact") == ["I live in Rome"]
    assert await listed(profiles, session_id="s2", type="instruction") == ["Always run the tests first"]
    assert await listed(profiles, session_id="s1", type="instruction") == []
    assert len(await listed(profiles)) == 2
