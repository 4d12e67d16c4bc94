"""A tenant's requests read within a deadline, and within their share of the reader."""

import asyncio

import pytest

from app.domain.errors import ReaderUnavailable
from app.services.models.reader import TenantReader
from app.services.turns.shares import READINGS, Shares
from tests.services.scripted_reader import REPLACES, TASK, ScriptedReader


def of_tenant(reader: ScriptedReader, *, seconds: float = 5.0, shares: Shares | None = None) -> TenantReader:
    return TenantReader("acme", reader, shares or Shares(READINGS), seconds)


async def test_what_is_read_is_read_for_the_tenant() -> None:
    scripted = ScriptedReader(
        {("in Rome", "in Oslo"): REPLACES}, {"Call Ann.": TASK}, {("Where?", "in Oslo"): 0.9}, {("a", "b"): 0.8}
    )
    reader = of_tenant(scripted)
    assert list(await reader.relations([("in Rome", "in Oslo")])) == [REPLACES]
    assert list(await reader.kinds(["Call Ann."])) == [TASK]
    assert list(await reader.relevance("Where?", ["in Oslo", "x"])) == [0.9, 0.0]
    assert list(await reader.follows([("a", "b")])) == [0.8]
    assert scripted.tenants == ["acme"] * 4
    assert (reader.version, reader.thresholds) == (scripted.version, scripted.thresholds)


async def test_a_reader_that_takes_too_long_is_unavailable_and_leaves_the_share_free() -> None:
    scripted, shares = ScriptedReader(waits=True), Shares(1)
    with pytest.raises(ReaderUnavailable):
        await of_tenant(scripted, seconds=0.01, shares=shares).relations([("a", "b")])
    scripted.waits = False
    assert len(await of_tenant(scripted, shares=shares).relations([("a", "b")])) == 1


async def test_the_turn_counts_towards_the_deadline() -> None:
    scripted, shares = ScriptedReader(waits=True), Shares(1)
    first = asyncio.create_task(of_tenant(scripted, shares=shares).relations([("a", "b")]))
    await asyncio.sleep(0)
    with pytest.raises(ReaderUnavailable):
        await of_tenant(scripted, seconds=0.01, shares=shares).relations([("c", "d")])
    scripted.waits = False
    assert len(await first) == 1
    assert scripted.compared == [("a", "b")]
