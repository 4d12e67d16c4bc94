"""Once it is undone, all is as if it had never been taught, in whatever order things were said; the dry run knew."""

import asyncio
import tempfile
from pathlib import Path
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.facts import Fact
from app.domain.json_types import Json
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.domain.undoing import Selected
from tests.services.memories.test_undo_taught import DAY, OTHER_RUN, RUN, THEN, as_said, fact
from tests.support.gateways import Bench, bench_on
from tests.support.generation import examples
from tests.support.memories import memory_rows
from tests.support.scopes import begin_run
from tests.support.told import told

SAID = tuple(
    f"{words} {value}"
    for words, value in (
        *(("I live in", place) for place in ("Rome", "Oslo", "Lima", "Kyoto")),
        *(("I moved to", place) for place in ("Rome", "Oslo", "Lima")),
        *(("The deploy time is", hour) for hour in ("5 pm", "6 pm", "7 pm")),
        *(("The cat sleeps on day", number) for number in ("one", "two")),
    )
)
Write: TypeAlias = tuple[str, int, str, str | None, str | None]
"""What is said, on which day, for which agent, in which run and session."""
writes = st.lists(
    st.tuples(
        st.sampled_from(SAID),
        st.integers(0, 9),
        st.sampled_from(["bot", "bot", "other"]),
        st.sampled_from([None, RUN, RUN, OTHER_RUN]),
        st.sampled_from([None, "s1", "s1", "s2"]),
    ),
    min_size=3,
    max_size=10,
    unique_by=lambda write: (write[0], write[2]),
)
selections = st.sampled_from(["run", "session"])


def says(content: str) -> dict[str, Json]:
    """Return the metadata with which a text tells a fact that later ones may replace; none for the cat."""
    hour = content.removeprefix("The deploy time is ")
    return told(content) if hour == content else Fact("deploy", "time", hour, single=True).metadata


async def store(bench: Bench, number: int, write: Write) -> None:
    content, day, agent, run_id, session = write
    metadata = says(content)
    if run_id is not None:
        whole = metadata.get("fact", fact(run_id)["fact"])
        assert isinstance(whole, dict)
        metadata = {"fact": {**whole, "learned_from_run_id": run_id}}
    at = THEN + day * DAY + number
    await bench.gateway.store(agent, NewMemory(content, metadata, session_id=session, occurred_at=at))


async def state(bench: Bench) -> object:
    recalled = {
        (agent, query): {entry.content for entry in (await bench.gateway.recall(agent, Query(query, top_k=20))).entries}
        for agent in ("bot", "other")
        for query in ("Where do I live?", "What is the deploy time?")
    }
    return recalled, [
        tuple(row.values())
        for row in await memory_rows(
            bench, "agent_id", "content", "metadata", "superseded_at", "forgotten_at", by="agent_id, content"
        )
    ]


async def check(path: Path, done: list[Write], what: str) -> None:
    async def made(name: str, kept: list[tuple[int, Write]], undone: Selected | None = None) -> object:
        (path / name).mkdir()
        async with bench_on(path / name) as bench:
            await begin_run(bench.backends, RUN)
            for number, write in kept:
                await store(bench, number, write)
            if undone is not None:
                await as_said(bench, undone)
            await bench.quiet(rounds=3)
            return await state(bench)

    numbered = list(enumerate(done))
    if what == "run":
        selected, others = Selected(run_id=RUN), [each for each in numbered if each[1][3] != RUN]
    else:
        selected = Selected(agent_id="bot", session_id="s1")
        others = [each for each in numbered if (each[1][2], each[1][4]) != ("bot", "s1")]
    assert await made("undone", numbered, selected) == await made("never", others)


@settings(max_examples=examples(25), deadline=None)
@given(writes, selections)
def test_once_it_is_undone_all_is_as_if_it_had_never_been_taught(done: list[Write], what: str) -> None:
    with tempfile.TemporaryDirectory() as path:
        asyncio.run(check(Path(path), done, what))
