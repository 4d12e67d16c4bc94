"""What differs in a number, a name, a code or a denial is never merged, and nothing beside a consolidation is lost."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.memory import NewMemory
from app.grounding.restating import says_all
from app.grounding.source import Source
from app.indexing.jobs.consolidate import Consolidate
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Row, Statement
from app.services.memories.consolidation import Consolidations
from tests.indexing.test_consolidation_law import BelievesAll, job, stored
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, bench_on
from tests.support.memories import holding, memory_rows
from tests.support.tables import ANY

APART = (
    *(("I pay 5 mW", "I pay 5 MW"), ("ask US", "ask us"), ("token aB3x", "token AB3X"), ("10² m", "102 m")),
    *(
        ("see https://e.com/Ab", "see https://e.com/ab"),
        ("mail a.b@x.com", "mail ab@x.com"),
        ("is it tea?", "is it tea"),
    ),
    *(("it is <5", "it is >5"), ("it is +5", "it is -5"), ("x = 1", "x != 1"), ("5 to 6", "6 to 5")),
    *(("Anna beats Tom", "Tom beats Anna"), ("use `rm -r`", "use `rm -R`"), ("version 1.2.3", "version 1.2.30")),
    *(("the flag is --verify", "the flag is --no-verify"), ("never tea", "always tea"), ("call Ann", "call Anne")),
)


@pytest.mark.parametrize("pair", APART)
async def test_two_that_differ_in_what_code_can_tell_stay_two_whatever_a_reader_says(
    tmp_path: Path, backend: Backend, pair: tuple[str, str]
) -> None:
    async with bench_on(tmp_path, backend) as bench:
        reader = BelievesAll()
        await stored(bench, reader, [(content, None) for content in pair])
        assert (await job(bench, reader).run()).memories == 0


@given(st.integers(0, 9999), st.integers(0, 9999), st.sampled_from(["", "-", "+", "<", "$", "v1."]))
def test_another_number_or_another_sign_is_never_told(one: int, other: int, sign: str) -> None:
    texts = {f"we pay {one} today", f"we pay {sign}{other} today"}
    for kept in texts:
        assert [text for text in texts if says_all(Source(kept, 0), Source(text, 0))] == [kept]


@dataclass
class Beside:
    """A database at whose call of a number something else happens first."""

    inner: Database
    number: int
    act: Callable[[], Awaitable[object]]
    calls: int = 0

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.calls += 1
        if self.calls == self.number:
            await self.act()
        return await self.inner.run(statements)


@pytest.mark.thorough
@pytest.mark.parametrize("act", ["store", "delete the newest", "delete the oldest"])
async def test_what_is_stored_or_deleted_at_any_call_of_a_consolidation_costs_nothing_else(
    tmp_path: Path, backend: Backend, act: str
) -> None:
    number, calls = 1, 99
    while number <= calls:
        async with bench_on(tmp_path / str(number), backend) as bench:
            said = [("I like tea", None)] * 3 + [("Rome is warm", None)]
            ids = await stored(bench, BelievesAll(), said)

            async def happen() -> None:
                if act == "store":
                    await bench.gateway.store("bot", NewMemory("I like tea", session_id="new"))
                else:
                    await bench.gateway.delete("bot", ids[2 if act == "delete the newest" else 0])  # noqa: B023

            beside = Beside(bench.database, number, happen)
            await Consolidate(
                beside,  # type: ignore[arg-type]
                None,
                holder="one",
                rate_limiter=RateLimiter(1e9),
                pause=0,
                report=lambda _: None,
            ).run()
            calls = beside.calls
            assert {*await holding(bench)} == {"I like tea", "Rome is warm"}
            reports = Consolidations(bench.backends.of_tenant("acme", ADMINISTRATOR))
            for report in await reports.latest(5):
                await reports.undo(report.id)
            assert await memory_rows(bench, "id", superseded_at=ANY) == []
        number += 1
