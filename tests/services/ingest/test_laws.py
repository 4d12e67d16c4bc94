"""Laws of ingesting: whatever comes twice, in whatever parts and order, ends as one conversation that came once."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.messages import NewMessage, Role
from app.services.ingest.identify import said_at
from app.services.ingest.ingester import Ingester
from tests.services.compared import compare, of_one_thing
from tests.services.ingest.test_killed import what_is_known
from tests.services.scripted_reader import ScriptedReader
from tests.simulation import clock
from tests.simulation.world import World, world
from tests.support.gateways import ADMINISTRATOR
from tests.support.generation import examples

SAID = [
    *(HOMES := ("I live in Rome", "I live in Oslo", "I live in Lima", "I moved to Oslo")),
    *(TOOLS := ("We use npm", "We use pnpm")),
    "Ann: I live in Bonn",
    "Fine.",
    "What now?",
]
roles = st.sampled_from(["user", "assistant", "system"])
moments = st.none() | st.integers(-(10**12), 10**12)


@st.composite
def conversations(draw: st.DrawFn) -> list[NewMessage]:
    said: list[tuple[Role, str]] = draw(
        st.lists(st.tuples(roles, st.sampled_from(SAID)), min_size=1, max_size=12, unique=True)
    )
    times = draw(st.permutations(range(1000, 1000 + len(said))))
    return [NewMessage(role, content, time) for (role, content), time in zip(said, times, strict=True)]


async def ingested(made: World, parts: Sequence[Sequence[NewMessage]]) -> tuple[int, list[tuple[object, ...]]]:
    replica = made.replica()
    written = 0
    for part in parts:
        ended = await Ingester(replica.backends.of_tenant("acme", ADMINISTRATOR)).ingest("bot", part, "s")
        assert ended.status == "done"
        assert ended.written + ended.known == ended.messages == len(part)
        written += ended.written
        await compare(replica.backends, ScriptedReader({**of_one_thing(*HOMES), **of_one_thing(*TOOLS)}))
    return written, what_is_known(made)


def ends(parts: Sequence[Sequence[NewMessage]]) -> tuple[int, list[tuple[object, ...]]]:
    async def live() -> tuple[int, list[tuple[object, ...]]]:
        async with world("late", 1) as made:
            return await ingested(made, parts)

    return clock.run(live())


@settings(max_examples=examples(15), deadline=None)
@given(data=st.data(), conversation=conversations())
def test_any_parts_in_any_order_end_as_the_whole_that_came_once(
    data: st.DataObject, conversation: list[NewMessage]
) -> None:
    whole = ends([conversation])
    assert whole[0] == len(conversation)
    size = len(conversation)
    bounds = data.draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(1, size)), max_size=4))
    parts = [conversation[begin : begin + length] for begin, length in bounds]
    order = data.draw(st.permutations([*parts, conversation]))
    assert ends(order) == whole
    assert ends([conversation, conversation]) == whole


@given(times=st.lists(moments, min_size=1, max_size=20), now=st.integers(0, 10**13))
def test_what_tells_no_time_stands_a_millisecond_beside_its_neighbour(times: list[int | None], now: int) -> None:
    found = said_at([NewMessage("user", "x", time) for time in times], now)
    told = [number for number, time in enumerate(times) if time is not None]
    assert all(found[number] == times[number] for number in told)
    assert told or found[0] == now
    first = told[0] if told else 0
    assert all(
        found[number] == found[number - 1] + 1
        for number in range(1, len(times))
        if times[number] is None or number <= first
    )
