"""Killed in any step, a snapshot is whole or none, and the next round leaves no more than it should."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.services.snapshots.tenants import fill, grow_old, keeper, known, objects_of, snapshots, whole
from tests.support.dying import Killed
from tests.support.gateways import Bench


async def check_whole(bench: Bench) -> None:
    """What is listed is whole."""
    for manifest in await whole(bench):
        assert (await snapshots(bench).verify(manifest)).flaws == 0


async def check_clean(bench: Bench) -> None:
    """The next round leaves the newest snapshot alone, and nothing of what was killed."""
    grow_old(bench)
    made = await keeper(bench).keep(1)
    assert (await whole(bench), await known(bench)) == ([made], [("acme", "stored")])
    assert len(await objects_of(bench)) == len(made.parts) + 1


def kill_at(number: int, *operations: str) -> Callable[[str, str], Any]:
    left = number

    async def kill(operation: str, key: str) -> None:
        nonlocal left
        del key
        left -= operation in operations
        if left == 0:
            raise Killed

    return kill


@pytest.mark.parametrize("moment", ["before", pytest.param("after", marks=pytest.mark.thorough)])
async def test_killed_at_any_object_a_snapshot_is_whole_or_none(bench: Bench, moment: str) -> None:
    await fill(bench)
    parts = len((await keeper(bench).keep(1)).parts)
    watched, killed = bench.backends.objects, 0
    for number in range(1, 2 * parts + 8):
        setattr(watched, moment, kill_at(number, "put", "delete"))
        try:
            await keeper(bench).keep(1)
        except Killed:
            killed += 1
        bench.backends = replace(bench.backends, objects=watched.inner)
        await check_whole(bench)
        await check_clean(bench)
        bench.backends = replace(bench.backends, objects=watched)
    assert killed >= parts + 2


@pytest.mark.parametrize("done", [True, pytest.param(False, marks=pytest.mark.thorough)])
async def test_killed_at_any_run_of_the_database_a_snapshot_is_whole_or_none(bench: Bench, *, done: bool) -> None:
    await fill(bench)
    await keeper(bench).keep(1)
    run, killed = type(bench.database).run, 0
    for number in range(1, 60):
        left = number

        async def dies(database: Any, given: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and not done:
                raise Killed
            answer = await run(database, given)
            if left == 0:
                raise Killed
            return answer

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(bench.database), "run", dies)
            try:
                await keeper(bench).keep(1)
            except Killed:
                killed += 1
        await check_whole(bench)
        if left > 0:  # it went through
            break
        grow_old(bench)
    await check_clean(bench)
    assert killed >= 10
