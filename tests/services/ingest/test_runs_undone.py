"""Messages that two runs have brought, of which one is undone."""

import asyncio

from app.domain.episodes import NewRun
from app.domain.undoing import Selected, Undone
from app.services.memories.undo_taught import UndoTaught
from app.services.tiers.episodic import EpisodicMemory
from app.storage.ingestions import Ingestion
from tests.services.ingest import test_erased_meanwhile as meanwhile
from tests.services.ingest.test_erased_meanwhile import OTHER, RUN, ingesting, left
from tests.support.gateways import ADMINISTRATOR, Bench
from tests.support.tables import ANY, rows_of

bench = meanwhile.bench


async def begin(bench: Bench) -> None:
    for run_id in (RUN, OTHER):
        await EpisodicMemory(bench.backends.of_tenant("acme", ADMINISTRATOR)).begin(NewRun("bot", "t", 1, run_id))


async def undo(bench: Bench, run_id: str) -> Undone:
    return await UndoTaught(bench.backends.of_tenant("acme", ADMINISTRATOR)).run(Selected(run_id=run_id))


async def both(bench: Bench) -> tuple["asyncio.Task[Ingestion]", "asyncio.Task[Ingestion]", asyncio.Event]:
    """Have a run begin to write a message, once the event is set, and another one wait with the same."""
    first, slow = ingesting(bench, ADMINISTRATOR, RUN)
    await slow.began.wait()
    second, embedder = ingesting(bench, ADMINISTRATOR, OTHER)
    embedder.goes_on.set()
    while len(await rows_of(bench, "ingestion", staged_at=ANY)) < 2:
        await asyncio.sleep(0.01)
    return first, second, slow.goes_on


async def test_messages_that_two_runs_have_brought_are_the_first_writers_and_go_with_its_undo(bench: Bench) -> None:
    await begin(bench)
    first, second, goes_on = await both(bench)
    goes_on.set()
    assert [item.status for item in (await first).items] == ["stored"]
    assert [item.status for item in (await second).items] == ["known"]
    assert (await undo(bench, OTHER)).memories == 0
    assert await left(bench) == [1, 0]
    assert (await undo(bench, RUN)).memories == 1
    assert await left(bench) == [0, 0]


async def test_what_waits_of_a_run_that_is_undone_is_written_by_the_other_that_brought_it(bench: Bench) -> None:
    await begin(bench)
    first, second, goes_on = await both(bench)
    await undo(bench, RUN)
    goes_on.set()
    assert (await first).failure == "conflict"
    assert [item.status for item in (await second).items] == ["stored"]
    assert await left(bench) == [1, 0]
    assert (await undo(bench, RUN)).memories == 0
    assert (await undo(bench, OTHER)).memories == 1


async def test_the_undo_of_the_run_that_waits_leaves_the_message_to_the_one_that_writes_it(bench: Bench) -> None:
    await begin(bench)
    first, second, goes_on = await both(bench)
    assert (await undo(bench, OTHER)).messages == 0
    goes_on.set()
    assert [item.status for item in (await first).items] == ["stored"]
    assert (await second).failure == "conflict"
    assert await left(bench) == [1, 0]


async def test_a_message_that_was_taken_over_from_a_dead_run_is_of_the_run_that_took_it(bench: Bench) -> None:
    await begin(bench)
    dead, slow = ingesting(bench, ADMINISTRATOR, RUN)
    await slow.began.wait()
    dead.cancel()
    await asyncio.gather(dead, return_exceptions=True)
    bench.later(60)
    second, embedder = ingesting(bench, ADMINISTRATOR, OTHER)
    embedder.goes_on.set()
    assert [item.status for item in (await second).items] == ["stored"]
    assert ((await undo(bench, RUN)).messages, await left(bench)) == (0, [1, 0])
    assert ((await undo(bench, OTHER)).memories, await left(bench)) == (1, [0, 0])
