"""Facts: told in three parts, and of those that are told as single the last one holds."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.author import Author
from app.domain.episodes import NewRun
from app.domain.errors import InvalidRequest, NotFound
from app.domain.explicit import about
from app.domain.facts import Fact, FactStatement
from app.domain.json_types import Json
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query
from app.services.memories.browse import Browser
from app.services.tiers.episodic import EpisodicMemory
from app.services.tiers.facts import SemanticMemory, StoredFact
from app.services.tiers.working import WorkingMemory
from tests.services.scripted_reader import EVENT, ScriptedReader
from tests.services.transfer.corpus import exported, imported
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.learned import compare
from tests.support.memories import claim, memory_rows, set_memories
from tests.support.tables import delete_rows
from tests.support.told import told

DAY = 86_400_000
RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


def tier(bench: Bench, author: Author = ADMINISTRATOR, tenant: str = "acme") -> SemanticMemory:
    return SemanticMemory(bench.backends.of_tenant(tenant, author))


async def learn(bench: Bench, *parts: str, day: int | None = None, single: bool = True, **fields: Any) -> StoredFact:
    subject, predicate, said = parts
    fact = Fact(subject, predicate, said, single=single, **fields)
    return await tier(bench).learn("bot", fact, occurred_at=None if day is None else day * DAY)


async def say(bench: Bench, content: str, day: int | None = None) -> str:
    """Store a text; one that tells where somebody lives has that as a fact beside it."""
    at = None if day is None else day * DAY
    return await bench.gateway.store("bot", NewMemory(content, told(content), occurred_at=at))


async def say_before(bench: Bench, content: str, claims: Mapping[str, str], day: int = 0) -> str:
    """Store a text in which an older version has read these values of keys."""
    memory_id = await bench.gateway.store("bot", NewMemory(content, occurred_at=day * DAY))
    for key, value in claims.items():
        await claim(bench, key, value, memory_id, day * DAY, whole=int(len(claims) == 1))
    return memory_id


async def held(bench: Bench, **asked: Any) -> list[FactStatement]:
    return list((await tier(bench).facts("bot", **asked)).items)


async def objects(bench: Bench, **asked: Any) -> list[str]:
    return [each.fact.object for each in await held(bench, **asked)]


async def test_a_fact_and_texts_that_have_one_beside_them_are_one_chain(bench: Bench) -> None:
    await say(bench, "I live in Rome", 1)
    assert (await learn(bench, "user", "lives in", "Oslo", day=2)).holds
    assert await objects(bench) == ["Oslo"]
    await say(bench, "I moved to Bergen", 3)
    await bench.gateway.store("bot", NewMemory("I moved to Paris", occurred_at=4 * DAY))  # which has none
    assert await objects(bench) == ["Bergen"]
    assert await objects(bench, history=True) == ["Bergen", "Oslo", "Rome"]
    assert not (await learn(bench, "User", "lives_in", "Lima", day=2)).holds
    assert await objects(bench, subject="USER", predicate="lives_in") == ["Bergen"]
    assert await objects(bench, subject="the user") == await objects(bench, predicate="moved to") == []


async def test_a_fact_and_what_an_older_version_has_read_in_a_text_are_one_chain(bench: Bench) -> None:
    await say_before(bench, "I live in Rome", {"user/lives_in": "rome"}, 1)
    assert await objects(bench) == ["rome"]
    assert (await learn(bench, "user", "lives in", "Oslo", day=2)).holds
    assert await objects(bench) == ["Oslo"]
    assert await objects(bench, history=True) == ["Oslo", "rome"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (("api", "port", "8080"), ("API", "Port", "9090")),
        (("user", "lives in", "Rome"), ("User ", "lives_in", "Oslo")),
        (("My  car", "is parked at", "Elm Street"), ("my car", "IS  PARKED AT", "the station")),
    ],
)
async def test_a_subject_and_a_predicate_have_one_value_however_they_are_written(
    bench: Bench, first: tuple[str, ...], then: tuple[str, ...]
) -> None:
    await learn(bench, *first, day=1)
    await learn(bench, *then, day=2)
    assert await objects(bench) == [then[2]]
    assert await objects(bench, subject=first[0], predicate=then[1]) == [then[2]]


@pytest.mark.parametrize("predicate", ["likes", "responded_positively_to", "lives in"])
async def test_of_what_is_not_told_as_single_all_objects_hold(bench: Bench, predicate: str) -> None:
    for object_ in ("sushi", "tea", "rain"):
        assert (await learn(bench, "user", predicate, object_, single=False)).holds
    assert sorted(await objects(bench, predicate=predicate)) == ["rain", "sushi", "tea"]


async def test_a_run_that_a_fact_was_learned_from_is_one_of_the_tenant_and_of_the_bound_agent(bench: Bench) -> None:
    runs = EpisodicMemory(bench.backends.of_tenant("acme", ADMINISTRATOR))
    await runs.begin(NewRun("bot", "support", None, RUN))
    fact = Fact("user", "lives in", "Oslo", learned_from_run_id=RUN)
    for service, agent, bound in (
        (tier(bench, tenant="other"), "bot", None),
        (tier(bench), "another", "another"),
    ):
        with pytest.raises(NotFound):
            await service.learn(agent, fact, only_agent=bound)
    assert await memory_rows(bench, "id") == []
    assert (await tier(bench).learn("bot", fact, only_agent="bot")).holds
    assert await objects(bench, learned_from_run_id=RUN) == ["Oslo"]
    assert await objects(bench, learned_from_run_id="01K2Z4M1V7Q8T3B5N6C7D8E9FB") == []


async def test_a_fact_of_a_type_is_in_the_log_of_the_run_that_it_was_learned_from(bench: Bench) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    await EpisodicMemory(backends).begin(NewRun("bot", "support", None, RUN))
    fact = Fact("user", "lives in", "Oslo", learned_from_run_id=RUN)
    learned = [(await tier(bench).learn(agent, fact)).memory_id for agent in ("bot", "support")]
    log = await WorkingMemory(backends).log(RUN, limit=10, after=0, only_agent="bot")
    assert [entry.entry for entry in log.entries][1:] == [
        {"event": "learned", "memory_id": memory_id} for memory_id in learned
    ]


async def test_an_export_and_an_import_carry_a_fact_unchanged(bench: Bench) -> None:
    await learn(bench, "user", "lives in", "Oslo", day=1, confidence=0.25, fact_id="home", agent_type="support")
    lines = await exported(bench)
    before = await held(bench)
    await delete_rows(bench, "long_term_memory")
    assert await held(bench) == []
    await imported(bench, lines)
    assert await held(bench) == before


async def test_an_author_who_speaks_for_some_states_facts_of_these_alone(bench: Bench) -> None:
    ann = tier(bench, replace(ADMINISTRATOR, speakers=frozenset(("ann",))))
    assert (await ann.learn("bot", Fact("Ann", "lives in", "Oslo"))).holds
    assert not (await ann.learn("bot", Fact("Joe", "lives in", "Oslo"))).holds
    assert [each.fact.subject for each in await held(bench)] == ["Ann"]


@pytest.mark.parametrize("wrong", [{"confidence": 1.5}, {"confidence": float("nan")}, {"subject": " "}])
async def test_what_is_no_fact_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Fact(**{"subject": "user", "predicate": "lives in", "object": "Oslo", **wrong})
    assert [error.field for error in refused.value.errors] == list(wrong)


async def test_metadata_that_is_no_fact_makes_none_of_a_text_which_waits_for_a_reader(bench: Bench) -> None:
    odds: list[Json] = ["text", {"subject": "user"}, {"subject": "a", "predicate": "b", "object": 1}, []]
    for number, odd in enumerate(odds):
        memory = NewMemory("I live in Rome", {"fact": odd}, occurred_at=number)
        await bench.gateway.store("bot", memory)
    assert await held(bench, history=True) == []
    states = await memory_rows(bench, "type", "statements_read")
    assert states == [{"type": "fact", "statements_read": 0}] * len(odds)


async def test_a_recall_of_facts_finds_what_was_told_and_texts_of_that_type_alone(bench: Bench) -> None:
    walk = "We walked along the river in Oslo yesterday"
    await say(bench, walk)
    await compare(bench, ScriptedReader(of_kinds={walk: EVENT}))
    await say_before(bench, "My dentist is Dr. Hale", {"user/dentist": "hale"})
    await learn(bench, "user", "lives in", "Oslo")
    found = await tier(bench).recall("bot", Query("Oslo dentist", 50))
    assert {each.fact.object for each in found.entries if each.fact} == {"Oslo", "hale"}
    assert len(found.entries) == 2
    narrow = await tier(bench).recall("bot", Query("Oslo dentist", 50), subject="user", predicate="dentist")
    assert [each.entry.content for each in narrow.entries] == ["My dentist is Dr. Hale"]


async def test_pages_of_facts_miss_none(bench: Bench) -> None:
    for number in range(7):
        await learn(bench, f"thing {number}", "weighs about", f"{number} kg", day=number // 3)
    service, seen, after = tier(bench), list[str](), None
    while True:
        page = await service.facts("bot", limit=2, after=after)
        seen += [each.fact.object for each in page.items]
        after = page.after
        if after is None:
            break
    assert sorted(seen) == [f"{number} kg" for number in range(7)]
    assert [each.fact.object for each in await service.holding("bot", 3)] == seen[:3]


async def test_a_doubtful_fact_neither_supersedes_a_sure_one_nor_is_superseded_by_it(bench: Bench) -> None:
    assert (await learn(bench, "user", "lives in", "Lima", day=1, confidence=0.49)).holds
    await say(bench, "I live in Rome", 2)
    assert not (await learn(bench, "user", "lives in", "Kyoto", day=3, confidence=0.0)).holds
    (fact,) = await held(bench)
    assert (fact.value, fact.until, fact.holds) == ("rome", None, True)
    history = [(each.value, each.holds, each.until is None) for each in await held(bench, history=True)]
    assert history == [("kyoto", False, True), ("rome", True, True), ("lima", False, False)]
    for asked in ({"subject": "User"}, {"predicate": "lives_in"}, {"subject": "user", "predicate": "Lives in"}):
        assert await objects(bench, history=True, **asked) == ["Kyoto", "Rome", "Lima"]
    found = await tier(bench).recall("bot", Query("Where does the user live?", 20), subject="user")
    assert [each.entry.content for each in found.entries] == ["I live in Rome"]
    assert {"I live in Rome", "Perhaps user lives in - Kyoto"} == {*await bench.contents("user Rome Kyoto Lima")}


async def test_a_doubtful_fact_holds_again_once_nothing_sure_does(bench: Bench) -> None:
    rome = await say(bench, "I live in Rome", 2)
    doubtful = await learn(bench, "user", "lives in", "Lima", day=1, confidence=0.2)
    assert await objects(bench) == ["Rome"]
    await set_memories(bench, {"forgotten_at": 1}, id=rome)
    assert await objects(bench) == ["Lima"]
    await set_memories(bench, {"forgotten_at": None, "expires_at": 1}, id=rome)
    assert await objects(bench) == ["Lima"]
    await bench.gateway.delete("bot", rome)
    (fact,) = await held(bench)
    assert (fact.memory_id, fact.fact.confidence, fact.content) == (
        doubtful.memory_id,
        0.2,
        "Perhaps user lives in - Lima",
    )


async def test_what_is_said_of_the_day_after_tomorrow_overrides_no_doubt_yet(bench: Bench) -> None:
    now = bench.backends.clock()
    sure = Fact("user", "lives in", "Oslo", single=True)
    await tier(bench).learn("bot", sure, occurred_at=now + 2 * DAY)
    await learn(bench, "user", "lives in", "Lima", confidence=0.1)
    assert await objects(bench) == ["Lima"]


async def test_a_fact_of_one_agent_overrides_no_doubt_of_another(bench: Bench) -> None:
    oslo = Fact("user", "lives in", "Oslo", single=True)
    await tier(bench).learn("other", oslo)
    await tier(bench, tenant="other").learn("bot", oslo)
    assert (await learn(bench, "user", "lives in", "Lima", confidence=0.1)).holds
    found = await tier(bench).recall("bot", Query("user lives", 20))
    assert [each.fact.object for each in found.entries if each.fact] == ["Lima"]


async def test_a_doubtful_fact_comes_before_no_sure_one_as_its_correction(bench: Bench) -> None:
    await learn(bench, "user", "lives in", "Oslo", day=1)
    await learn(bench, "user", "lives in", "Lima", day=2, confidence=0.3)
    assert (await bench.contents("Where does the user live?"))[0] == "user lives in - Oslo"


async def test_an_author_who_speaks_for_some_doubts_of_these_alone(bench: Bench) -> None:
    ann = tier(bench, replace(ADMINISTRATOR, speakers=frozenset(("ann",))))
    assert (await ann.learn("bot", Fact("Ann", "lives in", "Oslo", 0.1))).holds
    assert not (await ann.learn("bot", Fact("Joe", "lives in", "Oslo", 0.1))).holds


async def test_a_recall_names_of_a_text_of_an_older_version_what_was_asked_for_and_holds(bench: Bench) -> None:
    both = {"user/lives_in": "rome", "user/dentist": "hale"}
    await say_before(bench, "I live in Rome. My dentist is Dr. Hale.", both, 1)
    for predicate, said in (("lives in", "rome"), ("dentist", "hale")):
        found = await tier(bench).recall("bot", Query("Rome dentist", 5), subject="user", predicate=predicate)
        assert [each.fact and each.fact.object for each in found.entries] == [said]
    await learn(bench, "user", "lives in", "Oslo", day=2)
    found = await tier(bench).recall("bot", Query("Rome dentist Oslo", 5))
    assert {each.fact and each.fact.object for each in found.entries} == {"hale", "Oslo"}


async def test_a_filter_over_all_agents_leaves_out_each_doubtful_fact_in_whose_place_a_sure_one_of_its_agent_holds(
    bench: Bench,
) -> None:
    doubtful = Fact("user", "lives in", "Lima", 0.2, single=True)
    await tier(bench).learn("bot", doubtful)
    await tier(bench).learn("bot", Fact("user", "lives in", "Rome", single=True))
    await tier(bench).learn("other", Fact("user", "lives in", "Kyoto", 0.2, single=True))
    await tier(bench).learn("sure", Fact("user", "lives in", "Oslo", single=True))
    browser = Browser(bench.backends.of_tenant("acme", ADMINISTRATOR))
    for where in (Filter(type="fact"), Filter(about=about(None, "lives in"))):
        listed = {
            agent: {memory.content for memory in (await browser.list(agent, where, limit=9, after=None)).items}
            for agent in (None, "bot", "other", "sure")
        }
        assert listed.pop(None) == {content for contents in listed.values() for content in contents}
        assert listed == {
            "bot": {"user lives in - Rome"},
            "other": {"Perhaps user lives in - Kyoto"},
            "sure": {"user lives in - Oslo"},
        }
