"""Whose names are left out of what is embedded: those who speak in the scope, as far as recalls have found them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Unavailable
from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from app.services.tenant.caches import TenantCaches
from app.services.tenant.speakers import SpeakerCache, remember
from app.services.tenant.tenant_cache import TenantCache
from tests.support.gateways import Bench, bench_on

QUESTION = "What did Carla say about the old garden house?"
CUT = "What did say about the old garden house?"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as bench:
        yield bench


def embedded(bench: Bench) -> list[str]:
    """Take what was embedded as queries since."""
    texts = [text for texts, purpose in bench.embedder.calls if purpose == "query" for text in texts]
    bench.embedder.calls.clear()
    return texts


async def test_a_name_that_nobody_speaks_under_is_what_the_query_is_about(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("Carla's dog is called Rex", {}))
    await bench.gateway.recall("bot", Query(QUESTION))
    await bench.gateway.recall("bot", Query(QUESTION))
    assert set(embedded(bench)) == {QUESTION}


@pytest.mark.parametrize("metadata", [{}, {"speaker": "Carla Berg"}])
async def test_the_name_of_a_speaker_is_left_out_from_the_first_recall_on(
    bench: Bench, metadata: dict[str, str]
) -> None:
    content = "the garden house is old" if metadata else "Carla: the garden house is old"
    await bench.gateway.store("bot", NewMemory(content, metadata, "s"))
    await bench.gateway.recall("bot", Query(QUESTION))
    assert embedded(bench) == [QUESTION, CUT]
    await bench.gateway.recall("bot", Query("What did Carla do in the garden house?"))
    assert embedded(bench) == ["What did do in the garden house?"]


async def test_who_speaks_to_one_agent_or_tenant_is_nobody_to_another(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("Carla: the garden house is old", {}, "s"))
    await bench.gateway.recall("bot", Query(QUESTION))
    embedded(bench)
    other = bench.tenant("other")
    for gateway, agent in ((bench.gateway, "second"), (other, "bot")):
        await gateway.store(agent, NewMemory("a garden house", {}))
        await gateway.recall(agent, Query(QUESTION))
    assert CUT not in embedded(bench)


async def test_each_question_of_a_message_finds_what_answers_it(bench: Bench) -> None:
    first = await bench.gateway.store("bot", NewMemory("the code of the shed is 4711", {}))
    second = await bench.gateway.store("bot", NewMemory("the baker opens at seven on sundays", {}))
    for number in range(40):
        await bench.gateway.store("bot", NewMemory(f"an unrelated note about matter {number}", {}))
    message = "Hi there! What is the code of the shed? And when does the baker open on sundays?"
    found = await bench.gateway.recall("bot", Query(message, top_k=3))
    assert {first, second} <= {entry.id for entry in found.entries}
    (asked,) = [texts for texts, purpose in bench.embedder.calls if purpose == "query"]
    assert len(asked) == 3


async def test_a_message_of_which_one_question_cannot_be_asked_is_answered_and_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await bench.gateway.store("bot", NewMemory("the code of the shed is 4711", {}))
    for number in range(10):
        await bench.gateway.store("bot", NewMemory(f"an unrelated note about matter {number}", {}))
    await bench.delivered()
    whole, asked = bench.index.inner.query, 0

    async def query(*arguments: Any, **named: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise Unavailable("The index is away.")
        return await whole(*arguments, **named)

    monkeypatch.setattr(bench.index.inner, "query", query)
    found = await bench.gateway.recall("bot", Query("What is the code of the shed? And when does the baker open?"))
    assert found.entries[0].id == first
    assert list(found.degraded) == ["index_unavailable"]


async def test_what_stands_before_the_colon_of_a_note_is_no_speaker(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("Wifi: the password is on the fridge", {}))
    asked = "What is the Wifi password for the guests?"
    for _ in range(2):
        await bench.gateway.recall("bot", Query(asked))
    assert {text for texts, purpose in bench.embedder.calls if purpose == "query" for text in texts} == {asked}


def test_names_are_kept_within_a_budget_and_forgotten_with_an_erasure() -> None:
    cache: SpeakerCache = TenantCache(2_000)
    scopes = [Scope("acme", f"bot-{number}") for number in range(5)]
    for scope in scopes:
        remember(cache, scope, {"carla", "bob"}, since=cache.changes)
    assert cache.find(scopes[-1]) == frozenset({"carla", "bob"})
    assert cache.find(scopes[0]) is None
    assert cache.held <= 2_000
    remember(cache, scopes[-1], {"dora"}, since=cache.changes)
    assert cache.find(scopes[-1]) == frozenset({"carla", "bob", "dora"})
    TenantCaches(speakers=cache).seen("acme", 1)
    assert cache.find(scopes[-1]) is None


def test_an_agent_of_very_many_speakers_has_some_of_them_kept() -> None:
    cache: SpeakerCache = TenantCache(1_000_000)
    scope = Scope("acme", "bot")
    remember(cache, scope, {f"name{number}" for number in range(1_000)}, since=cache.changes)
    remember(cache, scope, {"carla"}, since=cache.changes)
    assert 0 < len(cache.find(scope) or ()) < 1_000
    assert "carla" in (cache.find(scope) or ())


def test_names_that_were_found_before_an_erasure_are_not_kept_after_it() -> None:
    cache: SpeakerCache = TenantCache(2_000)
    scope, before = Scope("acme", "bot"), cache.changes
    TenantCaches(speakers=cache).seen("acme", 1)
    remember(cache, scope, {"carla"}, since=before)
    assert cache.find(scope) is None
