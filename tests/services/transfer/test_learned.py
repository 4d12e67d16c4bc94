"""What a model has learned of messages is moved with what it comes from, and repaired as it was embedded."""

from typing import Any

import pytest

from app.domain.memory import Scope
from app.indexing.jobs.reconcile import Reconcile
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Row
from app.services.profiles.profile import ProfileService
from app.services.transfer.fields import BadLineError
from app.services.transfer.lines import memory_line
from app.services.transfer.reading import read_line
from tests.services.compared import compare, of_one_thing
from tests.services.scripted_reader import ScriptedReader
from tests.services.transfer.corpus import changed, exported, imported, numbered
from tests.support.gateways import ADMINISTRATOR, Bench
from tests.support.learned import learn, say
from tests.support.memories import memory_ids, memory_rows
from tests.support.tables import rows_of

DAY = 86_400_000
NOW = 1_790_000_000_000
TEXT = "Where?\nWho meets?\nThey meet there."


async def claims(bench: Bench) -> list[Row]:
    return await rows_of(bench, "claim", "key", "memory_id", "superseded_by", by="key, happened_at, memory_id")


async def states(bench: Bench) -> list[Row]:
    rows = await memory_rows(bench, "id", "type", "learned", "superseded_at", "forgotten_at", "forgotten_with", by="id")
    return [
        row | {"holds": row.pop("superseded_at") is None, "remembered": row.pop("forgotten_at") is None}
        for row in map(dict, rows)
    ]


def profiles(bench: Bench) -> ProfileService:
    return ProfileService(bench.backends.of_tenant("acme", ADMINISTRATOR))


async def fill(bench: Bench) -> tuple[str, str]:
    """Learn of messages of which one is forgotten and one superseded; return the forgotten message and what is lost."""
    there = await say(bench.backends, "We meet there", NOW)
    rome = await say(bench.backends, "I live in Rome", NOW + DAY)
    await say(bench.backends, "I live in Oslo", NOW + 2 * DAY)
    await compare(bench.backends, ScriptedReader(of_one_thing("I live in Rome", "I live in Oslo")))
    await learn(bench.backends, "They meet there.", [there], NOW, queries=["Where?", "Who meets?"])
    await learn(bench.backends, "Rome is home.", [rome, there], NOW + DAY, topic="home")
    await learn(bench.backends, "The place is new.", [there], NOW, topic="place")
    await learn(bench.backends, "The place is old.", [there], NOW + DAY, topic="place", type_="instruction")
    own = str(await learn(bench.backends, "Nothing is known of it.", [there], NOW, type_="event"))
    await profiles(bench).forget("bot", own)
    await profiles(bench).forget("bot", there.memory_id)
    return there.memory_id, own


@pytest.mark.parametrize("order", ["as exported", "learned first"])
async def test_it_is_the_same_elsewhere_whichever_came_first(bench: Bench, target: Bench, order: str) -> None:
    there, own = await fill(bench)
    data = await exported(bench)
    manifest, *memories, end = data.splitlines(keepends=True)
    if order == "learned first":
        memories.sort(key=lambda line: b'"learned"' not in line)
    *_, summary = await imported(target, b"".join([manifest, *memories, end]))
    assert summary["imported"] == 9  # and what a reader has found
    assert await states(target) == await states(bench)
    assert await claims(target) == await claims(bench)
    assert await exported(target) == data
    for each in (bench, target):
        await profiles(each).unforget("bot", there)
    assert await states(target) == await states(bench)
    assert [row["id"] for row in await states(target) if not row["remembered"]] == [own]


async def test_its_questions_are_embedded_with_it_by_an_import_and_a_repair(bench: Bench, target: Bench) -> None:
    await fill(bench)
    await imported(target, await exported(bench))
    assert TEXT in [text for texts, _ in target.embedder.calls for text in texts]
    await target.quiet()
    await target.index.inner.delete(Scope("acme", "bot"), await memory_ids(target, content="They meet there."))
    target.embedder.calls.clear()
    ports: dict[str, Any] = {"holder": "test", "rate_limiter": RateLimiter(1e9), "report": lambda _: None}
    findings = await Reconcile(target.database, target.index, target.embedder, repair=True, **ports).run()
    assert (findings.missing, findings.repaired) == (1, 1)
    assert target.embedder.calls == [([TEXT], "document")]


LEARNED: dict[str, Any] = {"message_ids": ["0" * 32], "topic": "home", "search_queries": ["Where?"]}
GOOD = changed(memory_line(numbered(1)[0]).data, learned=LEARNED, memory_type="fact")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"memory_type": None}, "belong together"),
        ({"learned": None}, "belong together"),
        ({"memory_type": "thought"}, "memory_type must be one of"),
        ({"memory_type": ["fact"]}, "memory_type must be one of"),
        ({"message_id": "0" * 32}, "a message is not learned"),
        ({"learned": ["home"]}, "learned must be an object"),
        ({"learned": LEARNED | {"model": "x"}}, "field that is not known: 'model'"),
        ({"learned": {"topic": "home"}}, "lacks message_ids"),
        ({"learned": LEARNED | {"message_ids": []}}, "message_ids must be the ids"),
        ({"learned": LEARNED | {"message_ids": ["x"]}}, "message_ids must be the ids"),
        ({"learned": LEARNED | {"message_ids": [1]}}, "list of at most 500 texts"),
        ({"learned": LEARNED | {"message_ids": ["0" * 32] * 501}}, "list of at most 500 texts"),
        ({"learned": LEARNED | {"topic": "user/lives_in"}}, "topic must be a topic"),
        ({"learned": LEARNED | {"topic": "x" * 10_000}}, "topic must be a topic"),
        ({"learned": LEARNED | {"topic": 5}}, "topic must be a text"),
        ({"learned": LEARNED | {"search_queries": ["Where?"] * 6}}, "list of at most 5 texts"),
        ({"learned": LEARNED | {"search_queries": ["x" * 201]}}, "1 to 200 characters"),
        ({"learned": LEARNED | {"search_queries": "Where?"}}, "list of at most 5 texts"),
        ({"learned": LEARNED | {"topic": "other"}}, "the hash is not that of the memory"),
    ],
)
def test_a_line_that_says_of_a_learned_memory_what_cannot_be_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(BadLineError) as caught:
        read_line(changed(GOOD, **changes))
    assert why in caught.value.detail
