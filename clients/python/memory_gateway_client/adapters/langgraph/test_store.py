"""The store against the running service."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

from memory_gateway_client import Forbidden, InvalidRequest, MemoryClient, Unavailable
from memory_gateway_client.adapters.langgraph import MemoryStore
from memory_gateway_client.adapters.langgraph.conftest import Connect

HOME = ("users", "ann")
TEA, COFFEE = {"drink": "tea"}, {"drink": "coffee"}


@pytest.fixture
def store(client: MemoryClient) -> MemoryStore:
    return MemoryStore(client)


async def value(store: MemoryStore, key: str) -> dict[str, Any] | None:
    item = await store.aget(HOME, key)
    return None if item is None else item.value


async def held(client: MemoryClient) -> list[str]:
    page = await asyncio.to_thread(client.list_memories)
    return [memory.content for memory in page.memories]


async def test_a_put_keeps_the_older_values(store: MemoryStore, client: MemoryClient) -> None:
    for each in (TEA, COFFEE, TEA):
        await store.aput(HOME, "likes", each)
        assert await value(store, "likes") == each
    assert await held(client) == ['{"drink": "tea"}', '{"drink": "coffee"}', '{"drink": "tea"}']


async def test_puts_that_follow_at_once_keep_their_order(store: MemoryStore) -> None:
    for number in range(50):
        await store.aput(HOME, "count", {"number": number})
        assert await value(store, "count") == {"number": number}


async def test_two_keys_may_have_the_same_value(store: MemoryStore) -> None:
    await store.abatch([PutOp(HOME, "one", TEA), PutOp(HOME, "other", TEA)])
    assert await value(store, "one") == await value(store, "other") == TEA
    found = await store.asearch(HOME, query="tea")
    assert {item.key for item in found} == {"one", "other"}


async def test_a_search_never_finds_what_a_newer_value_has_superseded(store: MemoryStore) -> None:
    await store.aput(HOME, "door", {"code": "the code of the door is 4711"})
    await store.aput(HOME, "cellar", {"code": "the code of the cellar is 17"})
    (first, *_) = await store.asearch(HOME, query="the code of the door is 4711", limit=1)
    assert first.key == "door"
    assert first.score is not None
    await store.aput(HOME, "door", {"lock": "has none any more"})
    found = await store.asearch(HOME, query="the code of the door is 4711")
    assert {str(item.value) for item in found} <= {
        "{'lock': 'has none any more'}",
        "{'code': 'the code of the cellar is 17'}",
    }


async def test_a_search_makes_one_call_and_one_more_for_each_key_it_gives(client: MemoryClient, url: str) -> None:
    for number in range(4):
        await asyncio.to_thread(MemoryStore(client).put, HOME, f"key {number}", TEA)
    asked: list[str] = []
    headers = dict(client._headers)  # noqa: SLF001 - its credential
    http = httpx.Client(headers=headers, event_hooks={"request": [lambda request: asked.append(request.url.path)]})
    with http:
        counted = MemoryStore(MemoryClient(url, agent_id="bot", http=http))
        assert len(await counted.asearch(HOME, query="tea", limit=3)) == 3
    assert asked == ["/recall", *["/memories"] * 3]


async def test_a_batch_reads_first_and_puts_the_last_value_of_each_key(
    store: MemoryStore, client: MemoryClient
) -> None:
    await store.aput(HOME, "likes", TEA)
    ops: list[Op] = [
        PutOp(HOME, "likes", {"drink": "water"}),
        GetOp(HOME, "likes"),
        PutOp(HOME, "likes", COFFEE),
        SearchOp(("users",)),
        GetOp(HOME, "nothing"),
    ]
    put, got, again, found, nothing = await store.abatch(ops)
    assert (put, again, nothing) == (None, None, None)
    assert isinstance(got, Item)
    assert isinstance(found, list)
    assert [got.value, *(item.value for item in found if isinstance(item, Item))] == [TEA, TEA]
    assert await value(store, "likes") == COFFEE
    assert await held(client) == ['{"drink": "coffee"}', '{"drink": "tea"}']


async def test_an_administrator_deletes_every_value_of_the_key_alone(store: MemoryStore, client: MemoryClient) -> None:
    for key, each in (("likes", TEA), ("likes", COFFEE), ("other", TEA)):
        await store.aput(HOME, key, each)
    await store.aput((*HOME, "likes"), "likes", COFFEE)
    await store.adelete(HOME, "likes")
    await store.adelete(HOME, "never put")
    assert await value(store, "likes") is None
    assert await held(client) == ['{"drink": "coffee"}', '{"drink": "tea"}']


async def test_a_delete_without_the_right_is_refused_and_leaves_all(connect: Connect, client: MemoryClient) -> None:
    agents = MemoryStore(connect(agent="bot", admin=False))
    await agents.aput(HOME, "likes", TEA)
    assert await value(agents, "likes") == TEA
    with pytest.raises(Forbidden):
        await agents.adelete(HOME, "likes")
    assert await held(client) == ['{"drink": "tea"}']


async def test_reading_by_key_without_the_right_is_refused(connect: Connect) -> None:
    every = MemoryStore(connect(admin=False))
    await every.aput(HOME, "likes", TEA)
    with pytest.raises(Forbidden):
        await every.aget(HOME, "likes")
    with pytest.raises(Forbidden):
        await every.asearch(HOME, query="tea")


async def test_an_outage_is_never_an_empty_store() -> None:
    with MemoryClient("http://127.0.0.1:1", "token", agent_id="bot", retries=0) as nowhere:
        store = MemoryStore(nowhere)
        for call in (
            store.aget(HOME, "likes"),
            store.asearch(HOME),
            store.asearch(HOME, query="tea"),
            store.alist_namespaces(),
            store.aput(HOME, "likes", TEA),
            store.adelete(HOME, "likes"),
        ):
            with pytest.raises(Unavailable):
                await call


def test_a_client_without_an_agent_is_refused() -> None:
    with pytest.raises(ValueError, match="MEMORY_GATEWAY_AGENT"):
        MemoryStore(MemoryClient(token="none"))


@pytest.mark.parametrize(
    ("op", "named"),
    [
        (PutOp(HOME, "likes", COFFEE, index=False), "index"),
        (PutOp(HOME, "likes", COFFEE, index=["drink"]), "index"),
    ],
)
async def test_what_is_not_supported_is_refused_by_name_and_nothing_is_done(
    store: MemoryStore, client: MemoryClient, op: Op, named: str
) -> None:
    with pytest.raises(NotImplementedError, match=named):
        await store.abatch([PutOp(HOME, "other", TEA), op])
    assert await held(client) == []


@pytest.mark.parametrize(
    ("op", "says"),
    [
        (PutOp(HOME, "likes", {"drink": "é" * 16_384}), "has 32781 bytes as JSON, at most 32768"),
        (PutOp(("x" * 6_000,), "likes", TEA), "namespace with the key of 'likes' has 12"),
        (PutOp(HOME, "k" * 11_000, TEA), "at most 10240"),
        (PutOp(HOME, "likes", {"drink": float("nan")}), "not JSON compliant"),
    ],
)
async def test_what_is_over_the_limits_is_refused_and_nothing_is_done(
    store: MemoryStore, client: MemoryClient, op: PutOp, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        await store.abatch([PutOp(HOME, "other", TEA), op])
    assert await held(client) == []


async def test_the_largest_value_that_is_taken_is_kept(store: MemoryStore) -> None:
    largest = {"drink": "é" * ((32_768 - len('{"drink": ""}')) // 2)}
    await store.aput(HOME, "likes", largest)
    assert await value(store, "likes") == largest


@pytest.mark.parametrize(
    ("op", "says"),
    [
        (PutOp(HOME, "likes", COFFEE, ttl=0.0), "more than 0 minutes"),
        (PutOp(HOME, "likes", COFFEE, ttl=-1.0), "more than 0 minutes"),
        (PutOp(HOME, "likes", COFFEE, ttl=float("nan")), "no end"),
        (PutOp(HOME, "likes", COFFEE, ttl=float("inf")), "no end"),
        (PutOp(HOME, "likes", COFFEE, ttl=1e12), "no end"),
        (SearchOp(HOME, offset=-1), "0 or more"),
        (SearchOp(HOME, limit=-1), "0 or more"),
        (SearchOp(HOME, filter={"drink": {"$like": "t"}}), "no operator '\\$like'"),
        (SearchOp(HOME, filter={"drink": {"$gt": 1}}), "could not convert string to float"),
    ],
)
async def test_a_number_or_a_filter_that_is_none_is_refused_and_nothing_is_done(
    store: MemoryStore, client: MemoryClient, op: Op, says: str
) -> None:
    await store.aput(HOME, "likes", TEA)
    with pytest.raises(ValueError, match=says):
        await store.abatch([PutOp(HOME, "other", TEA), op])
    assert await held(client) == ['{"drink": "tea"}']


@pytest.mark.parametrize("label", ["", "a.b", "a\0b", 7])
@pytest.mark.parametrize(
    "made",
    [
        lambda label: GetOp((label,), "key"),
        lambda label: PutOp((label,), "key", TEA),
        lambda label: SearchOp((label,)),
        lambda label: ListNamespacesOp((MatchCondition("prefix", (label,)),)),
    ],
)
async def test_a_label_that_is_none_is_refused_in_a_batch_too(
    store: MemoryStore, made: Callable[[Any], Op], label: Any
) -> None:
    with pytest.raises(InvalidNamespaceError, match="is no label"):
        await store.abatch([made(label)])


async def test_an_empty_namespace_is_refused_in_a_batch_too(store: MemoryStore) -> None:
    with pytest.raises(InvalidNamespaceError, match="at least one"):
        await store.abatch([PutOp((), "key", TEA)])


async def test_what_is_no_text_for_the_service_is_refused_by_it(store: MemoryStore) -> None:
    with pytest.raises(InvalidRequest, match="surrogate"):
        await store.aput(HOME, "likes", {"drink": "\ud800"})


async def test_namespaces_are_listed_as_langgraph_does(store: MemoryStore) -> None:
    for namespace in [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f")]:
        await store.aput(namespace, "key", TEA)
    cut = await store.alist_namespaces(prefix=("a", "b"), max_depth=3)
    assert cut == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]
    assert await store.alist_namespaces(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert await store.alist_namespaces(prefix=("a", "*", "f"), limit=1, offset=1) == [("a", "c", "f")]


async def test_what_else_the_agent_remembers_is_no_value_of_the_store(store: MemoryStore, client: MemoryClient) -> None:
    await asyncio.to_thread(client.store, "Ann likes tea", metadata={"key": "likes"})
    assert await store.asearch(()) == []
    assert await store.asearch((), query="tea") == []
    assert await store.alist_namespaces() == []


@pytest.mark.parametrize(
    ("content", "changed"),
    [
        ("tea", {}),
        ('"tea"', {}),
        ("[" * 30_000, {}),
        ('{"drink": "x"}', {"store.key": 7}),
        ('{"drink": "x"}', {"store.namespace": None}),
        ('{"drink": "x"}', {"store.1": "bob"}),
        ('{"drink": "x"}', {"store.2": "more"}),
    ],
)
async def test_what_merely_looks_like_a_value_is_none(
    store: MemoryStore, client: MemoryClient, content: str, changed: dict[str, Any]
) -> None:
    await store.aput(HOME, "likes", TEA)
    looks = {"store": "langgraph", "store.namespace": "users.ann", "store.key": "likes", "store.0": "users"}
    metadata = looks | {"store.1": "ann"} | changed
    await asyncio.to_thread(client.store, content, metadata=metadata)
    assert await value(store, "likes") == TEA
    assert [item.value for item in await store.asearch(())] == [TEA]
    assert [item.value for item in await store.asearch((), query="tea")] == [TEA]
    assert await store.alist_namespaces() == [HOME]
