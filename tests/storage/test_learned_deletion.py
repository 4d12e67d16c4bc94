"""What a model has learned of messages goes with them, by every way to delete them."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from app.domain.author import Author
from app.domain.memory import Scope
from app.indexing.jobs import erase
from app.indexing.jobs.prune import Prune
from app.indexing.rate_limiter import RateLimiter
from app.services.memories.undo import Undo
from app.services.profiles.profile import ProfileService
from app.storage import deletions
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.ingestions import ingestion, learning_pass, model_spend, proposal
from tests.support.learned import SESSION, Said, learn, say
from tests.support.memories import expire, memory_rows
from tests.support.tables import column_of, rows_of

NOW = 1_790_000_000_000


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def two_days(bench: Bench) -> tuple[Said, Said, str]:
    """Say something of two days, by two authors, learn something of the first, and keep what was proposed."""
    ann = Author("ann", "http")
    first = await say(bench.backends, "It rained on Monday", NOW, author=ann)
    second = await say(bench.backends, "It rained on Tuesday", NOW + 1)
    learned = await learn(bench.backends, "There was rain.", [first, second], NOW + 2)
    other = await learn(bench.backends, "Tuesday was wet.", [second], NOW + 3)
    for number, (said, state_, memory) in enumerate(
        ((first, "learned", learned), (first, "dropped", None), (second, "learned", other))
    ):
        ids = {"message_ids": json.dumps([said.message_id]), "memory_id": memory}
        await proposal(bench, "i", f"{number:032d}", content="It rained.", state=state_, **ids)
    await bench.quiet()
    return first, second, str(other)


async def deleted(bench: Bench, first: Said) -> None:
    await bench.gateway.delete("bot", first.memory_id)


async def undone(bench: Bench, _: Said) -> None:
    undo = Undo(bench.backends.of_tenant("acme", ADMINISTRATOR))
    counted = (await undo.count("ann")).memories
    assert (await undo.run("ann")).memories == counted == 2


async def pruned(bench: Bench, first: Said) -> None:
    await expire(bench, id=first.memory_id)
    job = Prune(bench.database, audit_days=400, episode_days=90, rate_limiter=RateLimiter(1e9), report=lambda _: None)
    assert (await job.run()).memories == 2


async def of_a_stopped_run(bench: Bench, first: Said) -> None:
    run = deletions.delete(Scope("acme", "bot"), first.memory_id, ADMINISTRATOR, now=NOW)
    await bench.database.inner.run(run[:2])


@pytest.mark.parametrize("remove", [deleted, undone, pruned, of_a_stopped_run])
async def test_it_goes_with_one_of_its_messages_and_so_do_its_vector_and_what_was_proposed(
    bench: Bench, remove: Callable[[Bench, Said], Awaitable[None]]
) -> None:
    first, second, other = await two_days(bench)
    await remove(bench, first)
    await bench.quiet()
    if remove is of_a_stopped_run:  # nobody was told that it is gone, but once more changes nothing
        await deleted(bench, first)
    assert {row["id"] for row in await memory_rows(bench, "id")} == {second.memory_id, other}
    assert set(await bench.index.sample("acme", "bot")) == {second.memory_id, other}
    assert await bench.queued() == {}
    assert await rows_of(bench, "memory_source", "count(*) AS n") == [{"n": 1}]
    assert await column_of(bench, "proposal", "memory_id") == [other]


async def test_what_was_proposed_goes_with_what_became_of_it(bench: Bench) -> None:
    _, _, other = await two_days(bench)
    await bench.gateway.delete("bot", other)
    left = await rows_of(bench, "proposal", "memory_id")
    assert other not in [row["memory_id"] for row in left]
    assert len(left) == 2


async def test_a_session_goes_with_what_was_learned_and_proposed_of_it(bench: Bench) -> None:
    await two_days(bench)
    deletion = await ProfileService(bench.backends.of_tenant("acme", ADMINISTRATOR)).delete_session("bot", SESSION)
    assert (deletion.memories, deletion.more) == (4, False)
    for table in ("long_term_memory", "memory_source", "proposal"):
        assert await rows_of(bench, table) == []
    audit = await rows_of(bench, "audit", "memory_id", event="deleted")
    assert len(audit) == 4
    await bench.quiet()
    assert list(await bench.index.sample("acme", "bot")) == []


@pytest.mark.parametrize("agent_id", ["bot", None])
async def test_an_erasure_leaves_nothing_of_it_and_counts_it(
    bench: Bench, agent_id: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "MAX_CHUNK", 1)
    await two_days(bench)
    await model_spend(bench, 1)
    await ingestion(bench, "i")
    await learning_pass(bench, "i")
    accepted = await bench.gateway.erase(agent_id)
    await bench.quiet()
    receipt = (await bench.gateway.erasure(accepted.id)).receipt
    assert receipt is not None
    assert receipt["erased"]["memories"] == 4
    assert (receipt["found_by_id"], receipt["found_by_search"]) == (0, 0)
    for table in ("long_term_memory", "memory_source", "pass", "proposal", "claim", "outbox"):
        assert await rows_of(bench, table) == [], table
    assert len(await rows_of(bench, "model_spend")) == (0 if agent_id is None else 1)


async def test_an_erasure_of_a_tenant_of_which_only_the_spend_is_left_deletes_that_too(bench: Bench) -> None:
    await model_spend(bench, 1)
    accepted = await bench.gateway.erase(None)
    await bench.quiet()
    assert (await bench.gateway.erasure(accepted.id)).status == "done"
    assert await rows_of(bench, "model_spend") == []
