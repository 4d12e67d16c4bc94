"""What was learned of messages follows what became of them, in whatever order things happen."""

import asyncio
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Superseded
from app.services.profiles.profile import ProfileService
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.generation import examples
from tests.support.learned import Said, learn, say
from tests.support.memories import memory_rows
from tests.support.tables import Like, rows_of
from tests.support.told import told

DAY = 86_400_000
FIRST = 1_700_000_000_000
PLACES = ("Rome", "Oslo", "Lima")

Event: TypeAlias = tuple[str, int, int, int]
"""What is done, and three numbers that say to what and how."""
events = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "learn", "learn", "learn", "forget", "forget", "unforget", "delete"]),
        st.integers(0, 20),
        st.integers(0, 20),
        st.integers(0, 20),
    ),
    min_size=4,
    max_size=24,
)


@dataclass
class World:
    """What was done so far."""

    said: dict[str, Said] = field(default_factory=dict)
    """By the ids of the memories."""
    contents: dict[str, str] = field(default_factory=dict)
    sources: dict[str, frozenset[str]] = field(default_factory=dict)
    """Of each learned memory: the message memories that it comes from."""
    forgotten: set[str] = field(default_factory=set)
    """What somebody has forgotten, and not taken back."""

    @property
    def memories(self) -> list[str]:
        return [*self.said, *self.sources]

    def remove(self, id_: str) -> None:
        """Delete a memory, and what comes from it."""
        self.said.pop(id_, None)
        self.contents.pop(id_, None)
        gone = {learned for learned, sources in self.sources.items() if id_ in sources} | {id_}
        self.sources = {learned: of for learned, of in self.sources.items() if learned not in gone}
        self.forgotten -= gone


async def do(bench: Bench, profiles: ProfileService, world: World, event: Event) -> None:
    """Do one thing, and note what was done."""
    what, one, two, three = event
    at = FIRST + (one % 7) * DAY + len(world.said) + len(world.sources)
    if what == "say":
        lives = ("I live in", "I moved to")[three % 2]
        content = f"{lives} {PLACES[two % 3]}" if three % 3 else f"It rained on day {one}"
        if content not in world.contents.values():  # else it is the same message
            made = await say(bench.backends, content, at, metadata=told(content))
            world.said[made.memory_id], world.contents[made.memory_id] = made, content
    elif what == "learn" and world.said:
        of = sorted({list(world.said)[number % len(world.said)] for number in (one, two, three)})[: 1 + three % 3]
        topic = (None, "home", "home", "weather")[two % 4]
        content = f"The user said it {PLACES[one % 3]} {two % 2}."
        id_ = await learn(bench.backends, content, [world.said[each] for each in of], at, topic=topic)
        if id_ is not None:
            world.sources[id_] = frozenset(of)
    elif world.memories:
        id_ = world.memories[one % len(world.memories)]
        if what == "forget":
            try:
                await profiles.forget("bot", id_)
            except Superseded:
                return
            world.forgotten.add(id_)
        elif what == "unforget":
            await profiles.unforget("bot", id_)
            world.forgotten.discard(id_)
        else:
            await bench.gateway.delete("bot", id_)
            world.remove(id_)


def first(*moments: object) -> int | None:
    """Return the first of the moments that there are."""
    return min((at for at in moments if isinstance(at, int)), default=None)


async def check(bench: Bench, profiles: ProfileService, world: World) -> None:
    """Hold what is kept against what follows from the messages' memories, the topics and what was forgotten."""
    rows = {
        str(row["id"]): row for row in await memory_rows(bench, "id", "message_id", "superseded_at", "forgotten_at")
    }
    assert set(rows) == set(world.memories)
    topics = {
        row["memory_id"]: row["superseded_at"]
        for row in await rows_of(bench, "claim", "memory_id", "superseded_at", key=Like("topic:%"))
    }
    listed = {each.id for each in (await profiles.list("bot", limit=1000, after=None)).items}
    for id_, of in world.sources.items():
        superseded = first(topics.get(id_), *(rows[each]["superseded_at"] for each in of))
        assert rows[id_]["superseded_at"] == superseded
        by_sources = first(*(rows[each]["forgotten_at"] for each in of))
        if id_ in world.forgotten:
            assert rows[id_]["forgotten_at"] is not None
        else:
            assert rows[id_]["forgotten_at"] == by_sources
        assert (id_ in listed) == (superseded is None and rows[id_]["forgotten_at"] is None)
    kept = {(row["memory_id"], row["message_id"]) for row in await rows_of(bench, "memory_source")}
    assert kept == {(id_, world.said[each].message_id) for id_, of in world.sources.items() for each in of}


@settings(deadline=None, max_examples=examples(160))
@given(events=events)
def test_a_learned_memory_is_what_its_messages_its_topic_and_who_forgot_it_make_it(
    events: list[Event], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def run() -> None:
        async with bench_on(tmp_path_factory.mktemp("law")) as bench:
            profiles, world = ProfileService(bench.backends.of_tenant("acme", ADMINISTRATOR)), World()
            for event in events:
                await do(bench, profiles, world, event)
                await check(bench, profiles, world)
            await bench.quiet()
            assert set(await bench.index.sample("acme", "bot")) == set(world.memories)

    asyncio.run(run())
