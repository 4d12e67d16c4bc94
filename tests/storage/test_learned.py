"""What a model has learned of messages follows what becomes of them."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.author import Author
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.indexing.jobs.backfill import backfill_claims
from app.ports.database import Row
from app.services.memories.undo import Undo
from app.services.profiles.profile import ProfileService
from tests.services.compared import compare, of_one_thing
from tests.services.scripted_reader import ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.learned import SESSION, learn, lesson, say, write
from tests.support.memories import expire, mark_read, memory_ids, memory_rows, set_memories
from tests.support.tables import ANY, delete_rows, rows_of
from tests.support.told import KEY, told

DAY = 86_400_000
NOW = 1_790_000_000_000
MOVED = ScriptedReader(of_one_thing("I live in Rome", "I live in Oslo"))


async def sources(bench: Bench) -> list[Row]:
    return await rows_of(bench, "memory_source", "count(*) AS n")


async def claims_rows(bench: Bench) -> list[Row]:
    return await rows_of(bench, "claim", "key", "memory_id", "whole", "superseded_by", by="key, happened_at, memory_id")


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def state(bench: Bench, memory_id: str | None) -> tuple[int | None, int | None]:
    """Return since when a memory is superseded and forgotten."""
    (row,) = await memory_rows(bench, "superseded_at", "forgotten_at", id=memory_id)
    return row["superseded_at"], row["forgotten_at"]  # type: ignore[return-value]


def profiles(bench: Bench) -> ProfileService:
    return ProfileService(bench.backends.of_tenant("acme", ADMINISTRATOR))


async def test_a_topic_supersedes_what_was_learned_of_it_before_and_nothing_else(bench: Bench) -> None:
    message = await say(bench.backends, "Deploys went out on Friday, as ever", NOW)
    stored = await bench.gateway.store("bot", NewMemory("They deploy on Fridays", occurred_at=NOW))
    first = await learn(bench.backends, "Deploys are on Friday.", [message], NOW, topic="deploy_day")
    later = await say(bench.backends, "It was Monday this time, and that is how it stays", NOW + DAY)
    second = await learn(bench.backends, "Deploys are on Monday.", [later], NOW + DAY, topic="deploy_day")
    assert await state(bench, first) == (NOW + DAY, None)
    assert await state(bench, second) == await state(bench, stored) == (None, None)
    assert await state(bench, message.memory_id) == await state(bench, later.memory_id) == (None, None)
    topics = [row for row in await claims_rows(bench) if str(row["key"]).startswith("topic:")]
    assert [(row["key"], row["memory_id"]) for row in topics] == [
        ("topic:deploy_day", first),
        ("topic:deploy_day", second),
    ]


async def test_no_key_but_its_topic_is_read_out_of_what_a_model_wrote(bench: Bench) -> None:
    message = await say(bench.backends, "I was in Rome once", NOW)
    await bench.gateway.store("bot", NewMemory("I live in Oslo", told("I live in Oslo")))
    for type_ in ("fact", "event"):
        await learn(bench.backends, f"I live in Rome, as an {type_}.", [message], NOW, type_=type_)
    await learn(bench.backends, "I live in Rome.", [message], NOW + DAY, topic="home", type_="event")
    keys = [row["key"] for row in await claims_rows(bench)]
    assert keys == [KEY]
    types = await memory_rows(bench, "type", by="created_at, type", learned=ANY)
    assert [row["type"] for row in types] == ["event", "fact", "event"]


async def test_who_is_bound_to_speakers_supersedes_nothing_by_a_topic(bench: Bench) -> None:
    bound = Author("ann", "http", speakers=frozenset({"ann"}))
    message = await say(bench.backends, "The door code is 1234", NOW)
    first = await learn(bench.backends, "The door code is 1234.", [message], NOW, topic="door_code")
    other = await say(bench.backends, "Ann: the door code is 9999", NOW + DAY)
    later = lesson("The door code is 9999.", [other], NOW + DAY, topic="door_code")
    await write(bench.backends, later, author=bound)
    await mark_read(bench, read=None)
    await backfill_claims(bench.database)
    assert await state(bench, first) == (None, None)


async def test_older_rows_of_what_a_model_wrote_get_the_claim_of_their_topic(bench: Bench) -> None:
    message = await say(bench.backends, "I live in Rome", NOW)
    await learn(bench.backends, "The user lives in Rome.", [message], NOW, topic="home")
    before = await claims_rows(bench)
    await delete_rows(bench, "claim")
    await mark_read(bench, read=None)
    assert await backfill_claims(bench.database) == 2
    assert await claims_rows(bench) == before != []


async def test_its_search_queries_are_embedded_and_only_its_content_is_found_by_words(bench: Bench) -> None:
    message = await say(bench.backends, "We meet at the usual place", NOW)
    await learn(bench.backends, "The venue is agreed.", [message], NOW, queries=["zebra crossing penguin"])
    assert bench.embedder.calls[-1] == (["zebra crossing penguin\nThe venue is agreed."], "document")
    entries = (await bench.gateway.recall("bot", Query("zebra crossing penguin"))).entries
    assert entries[0].content == "The venue is agreed."


async def test_what_somebody_said_word_for_word_is_not_learned_again(bench: Bench) -> None:
    message = await say(bench.backends, "The door code is 1234", NOW)
    await set_memories(bench, {"expires_at": 9000000000000})
    assert await learn(bench.backends, "The door code is 1234", [message], NOW, topic="door_code") is None
    kept = {"learned": None, "expires_at": 9_000_000_000_000}
    assert await memory_rows(bench, "learned", "expires_at") == [kept]
    assert not [row for row in await claims_rows(bench) if str(row["key"]).startswith("topic:")]


async def test_what_somebody_stores_in_the_words_of_a_model_is_theirs_from_then_on(bench: Bench) -> None:
    message = await say(bench.backends, "I moved, I am in Rome now", NOW)
    learned = await learn(bench.backends, "I live in Rome", [message], NOW, topic="home")
    await profiles(bench).forget("bot", message.memory_id)
    new = NewMemory("I live in Rome", told("I live in Rome"), SESSION, NOW)
    stored = await bench.gateway.store("bot", new)
    assert stored == learned
    assert [row["key"] for row in await claims_rows(bench) if row["memory_id"] == stored] == [KEY]
    assert await state(bench, stored) == (None, None)
    assert await sources(bench) == [{"n": 0}]
    await bench.gateway.delete("bot", message.memory_id)
    assert await memory_ids(bench) == [stored]


async def test_nothing_is_learned_of_a_message_that_is_gone(bench: Bench) -> None:
    there = await say(bench.backends, "I live in Rome", NOW)
    gone = await say(bench.backends, "My dog is called Rex", NOW + 1)
    await bench.gateway.delete("bot", gone.memory_id)
    assert await learn(bench.backends, "Rex lives in Rome.", [there, gone], NOW) is None
    assert await bench.memories() == 1
    assert await sources(bench) == [{"n": 0}]


async def test_it_is_forgotten_while_a_message_or_itself_is_whoever_was_first(bench: Bench) -> None:
    """Every step from every state: of two messages and of what was learned of both, each is forgotten or is not."""
    one = await say(bench.backends, "It rained on Monday", NOW)
    two = await say(bench.backends, "It rained on Tuesday", NOW + 1)
    learned = await learn(bench.backends, "It rained on two days.", [one, two], NOW + 2)
    assert learned is not None
    by_hand = set[str]()
    chosen, steps = random.Random(0), set[tuple[frozenset[str], str, bool]]()
    while len(steps) < 48:
        id_ = chosen.choice((one.memory_id, two.memory_id, learned))
        forgets = chosen.random() < 0.5
        steps.add((frozenset(by_hand), id_, forgets))
        await (profiles(bench).forget if forgets else profiles(bench).unforget)("bot", id_)
        (by_hand.add if forgets else by_hand.discard)(id_)
        since = {each: (await state(bench, each))[1] for each in (one.memory_id, two.memory_id, learned)}
        messages = [at for each in (one, two) if (at := since[each.memory_id]) is not None]
        assert {each for each in since if since[each] is not None} == by_hand | ({learned} if messages else set())
        if learned not in by_hand:
            assert since[learned] == min(messages, default=None)


async def test_undoing_who_forgot_a_message_brings_back_what_was_learned_of_it(bench: Bench) -> None:
    message = await say(bench.backends, "It rained on Monday", NOW)
    kept, forgotten = [await learn(bench.backends, f"It rained {n}.", [message], NOW + n) for n in (1, 2)]
    ann = ProfileService(bench.backends.of_tenant("acme", Author("ann", "http")))
    await profiles(bench).forget("bot", str(forgotten))
    await ann.forget("bot", message.memory_id)
    await ann.forget("bot", str(kept))
    assert (await Undo(bench.backends.of_tenant("acme", ADMINISTRATOR)).run("ann")).memories == 0
    assert await state(bench, message.memory_id) == await state(bench, kept) == (None, None)
    assert (await state(bench, forgotten))[1] is not None


async def test_it_is_written_as_what_became_of_its_messages_meanwhile(bench: Bench) -> None:
    message = await say(bench.backends, "I live in Rome", NOW)
    await say(bench.backends, "I live in Oslo", NOW + DAY)
    await compare(bench.backends, MOVED)
    other = await say(bench.backends, "It rained on Monday", NOW)
    await profiles(bench).forget("bot", other.memory_id)
    forgotten_at = (await state(bench, other.memory_id))[1]
    assert await state(bench, await learn(bench.backends, "Rome is home.", [message], NOW)) == (NOW + DAY, None)
    both = await learn(bench.backends, "It rained in Rome.", [message, other], NOW)
    assert await state(bench, both) == (NOW + DAY, forgotten_at)


async def test_it_lives_no_longer_than_its_messages(bench: Bench) -> None:
    lasting = await say(bench.backends, "It rained on Monday", NOW)
    short = await say(bench.backends, "It rained on Tuesday", NOW)
    await set_memories(bench, {"expires_at": 9000000000000}, id=short.memory_id)
    learned = await learn(bench.backends, "It rained on two days.", [lasting, short], NOW)
    ends = await memory_rows(bench, "id", "expires_at", by="id", expires_at=ANY)
    assert {row["id"] for row in ends} == {short.memory_id, learned}
    assert len({row["expires_at"] for row in ends}) == 1
    await expire(bench, id=short.memory_id)
    assert [each.id for each in (await profiles(bench).list("bot", limit=9, after=None)).items] == [lasting.memory_id]


async def test_it_shows_the_messages_that_it_was_learned_of_as_they_were_said(bench: Bench) -> None:
    answer = await say(bench.backends, "It rained on Tuesday", NOW + 1, role="assistant")
    question = await say(bench.backends, "When did it rain?", NOW)
    learned = await learn(bench.backends, "It rained on a Tuesday.", [answer, question], NOW + 2)
    await learn(bench.backends, "Rain was talked about.", [question], NOW + 2)
    shown = (await profiles(bench).get("bot", str(learned))).sources
    assert [(one.id, one.memory_id, one.role, one.session_id, one.said_at) for one in shown] == [
        (question.message_id, question.memory_id, "user", SESSION, NOW),
        (answer.message_id, answer.memory_id, "assistant", SESSION, NOW + 1),
    ]
    (itself,) = (await profiles(bench).get("bot", answer.memory_id)).sources
    assert (itself.id, itself.memory_id) == (answer.message_id, answer.memory_id)


async def test_a_recall_gives_what_holds_in_place_of_what_was_learned_of_a_superseded_message(bench: Bench) -> None:
    rome = await say(bench.backends, "I live in Rome", NOW)
    learned = str(await learn(bench.backends, "Home is Rome, the old town.", [rome], NOW))
    assert learned in await found(bench, "home Rome old town")
    oslo = await say(bench.backends, "I live in Oslo", NOW + DAY)
    await compare(bench.backends, MOVED)
    entries = await found(bench, "home Rome old town")
    assert learned not in entries
    assert oslo.memory_id in entries
    explained = await bench.gateway.explain("bot", Query("home Rome old town"), learned)
    assert "superseded" in explained.obstacles
    await bench.gateway.delete("bot", oslo.memory_id)
    assert learned in await found(bench, "home Rome old town")


async def found(bench: Bench, query: str) -> list[str]:
    return [entry.id for entry in (await bench.gateway.recall("bot", Query(query))).entries]
