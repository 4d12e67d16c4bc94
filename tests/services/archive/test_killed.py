"""Killed at any call of the database or the objects: nothing lost, nothing twice, nothing left of what is erased."""

import pytest

from tests.services.archive.test_archive import NEW, OLD, archives, everywhere, fill, move, recalled, restore
from tests.support.dying import killed_at
from tests.support.gateways import Bench, indexer_of
from tests.support.objects import keys
from tests.support.tables import delete_rows

DONE = pytest.mark.parametrize("done", [True, False])


@DONE
async def test_an_archiver_that_is_killed_anywhere_goes_on(bench: Bench, *, done: bool) -> None:
    await fill(bench)
    number = 1
    while await killed_at(bench, number, lambda: move(bench), done=done):
        assert await everywhere(bench) == sorted(OLD + NEW)
        for object_ in await archives(bench).list():
            await restore(bench, object_.id)
            await bench.delivered()
        await delete_rows(bench, "archive")  # what was restored may go again
        number += 1
    assert number > 6
    assert (await everywhere(bench), await recalled(bench)) == (sorted(OLD + NEW), NEW)


@DONE
async def test_a_restore_that_is_killed_anywhere_is_done_by_the_next(bench: Bench, *, done: bool) -> None:
    await fill(bench)
    number = 1
    while True:
        assert await move(bench) == 3
        (object_,) = await archives(bench).list()
        died = await killed_at(bench, number, lambda id_=object_.id: restore(bench, id_), done=done)  # type: ignore[misc]
        assert set(await everywhere(bench)) == set(OLD + NEW)
        if await archives(bench).list():
            assert (await restore(bench, object_.id))["rejected"] == 0
        await bench.delivered()
        assert await archives(bench).list() == []
        assert await everywhere(bench) == sorted(OLD + NEW)
        assert await recalled(bench) == sorted(OLD + NEW)
        await bench.quiet(rounds=3)
        await delete_rows(bench, "archive")
        number += 1
        if not died:
            break
    assert number > 5


@DONE
async def test_an_erasure_that_is_killed_anywhere_leaves_nothing_and_counts_each_once(
    bench: Bench, *, done: bool
) -> None:
    await fill(bench)
    await move(bench)
    accepted = await bench.gateway.erase("bot")

    async def erase() -> None:
        bench.indexer = indexer_of(bench.database, bench.backends)
        await bench.indexer.round()

    number = 1
    while await killed_at(bench, number, erase, done=done):
        number += 1
    bench.indexer = indexer_of(bench.database, bench.backends)
    await bench.quiet()
    receipt = (await bench.gateway.erasure(accepted.id)).receipt
    assert receipt is not None
    assert (receipt["erased"]["archives"], receipt["erased"]["blobs"]) == (1, 1)
    assert (await everywhere(bench), await keys(bench.backends.objects, "t")) == ([], [])
    assert number > 3
