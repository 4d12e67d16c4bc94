"""When Vectorize's writes show."""

import random
import time
from datetime import datetime
from email.utils import parsedate_to_datetime

import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.clock import Clock
from memory_gateway_double.server import running
from memory_gateway_double.vectorize.mutations import MutationQueue
from tests.double.conftest import DIMENSIONS, Client, VectorIndex, vector


class HandClock(Clock):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 100.0

    def now(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


def queue_of(clock: Clock, shown: list[str], seconds: tuple[float, float] = (10, 10)) -> MutationQueue[str]:
    return MutationQueue(clock, seconds, random.Random(1), shown.extend)


def test_nothing_shows_before_its_batch_ends(clock: HandClock) -> None:
    shown: list[str] = []
    queue = queue_of(clock, shown)
    queue.add("a")
    clock.seconds = 109.9
    queue.advance()
    assert (shown, queue.processed, queue.pending()) == ([], None, 1)
    clock.seconds = 110
    queue.advance()
    assert (shown, queue.pending()) == (["a"], 0)


def test_what_arrives_during_a_batch_waits_for_the_next(clock: HandClock) -> None:
    shown: list[str] = []
    queue = queue_of(clock, shown)
    queue.add("a")
    clock.seconds = 105
    queue.add("b")
    queue.add("c")
    clock.seconds = 119.9
    queue.advance()
    assert shown == ["a"]
    clock.seconds = 120
    queue.advance()
    assert shown == ["a", "b", "c"]


def test_the_mark_passes_a_write_that_does_not_show(clock: HandClock) -> None:
    shown: list[str] = []
    queue = queue_of(clock, shown)
    queue.add("a")
    clock.seconds = 105
    queue.add("b")
    clock.seconds = 111
    queue.advance()
    assert queue.processed is not None
    assert (queue.processed.at, shown) == (110, ["a"])


def test_the_mark_names_the_last_write_of_its_batch(clock: HandClock) -> None:
    queue = queue_of(clock, [])
    first, second, third = queue.add("a"), queue.add("b"), queue.add("c")
    clock.seconds = 110
    queue.advance()
    assert queue.processed is not None
    assert queue.processed.mutation_id == first
    clock.seconds = 120
    queue.advance()
    assert queue.processed.mutation_id == third != second


def test_a_batch_lasts_a_time_out_of_the_range(clock: HandClock) -> None:
    queue = queue_of(clock, [], (5, 30))
    ends = []
    for _ in range(50):
        queue.add("a")
        started = clock.seconds
        while queue.pending():
            clock.seconds += 0.5
        assert queue.processed is not None
        ends.append(queue.processed.at - started)
    assert 5 <= min(ends) < 10
    assert 25 < max(ends) <= 30


def test_settling_shows_everything_now(clock: HandClock) -> None:
    shown: list[str] = []
    queue = queue_of(clock, shown)
    for work in "abc":
        queue.add(work)
    queue.settle()
    assert (shown, queue.pending()) == (["a", "b", "c"], 0)
    assert queue.processed is not None
    assert queue.processed.at == 100


def test_a_write_shows_some_time_after_it_was_acknowledged() -> None:
    options = DoubleOptions(time_scale=100, visibility_seconds=(20, 20))
    with running(options) as handle, Client.connected(handle) as client:
        client.post("/vectorize/v2/indexes", {"name": "late", "config": {"dimensions": DIMENSIONS, "metric": "cosine"}})
        index = VectorIndex(client, "late")
        assert index.info() == {"dimensions": DIMENSIONS, "vectorCount": 0}
        written = index.write([vector("a")])
        assert index.found() == set()
        assert client.post(f"{index.path}/get_by_ids", {"ids": ["a"]}).json()["result"] == []
        assert client.get(f"{index.path}/list").json()["result"]["vectors"] == []
        assert client.control("GET", "").json()["pending"] == {"late": 1}
        deadline = time.monotonic() + 5
        while "processedUpToDatetime" not in (info := index.info()) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert index.found() == {"a"}
    assert info["processedUpToMutation"] == written.json()["result"]["mutationId"]
    processed = datetime.fromisoformat(info["processedUpToDatetime"])
    assert 18 < (processed - parsedate_to_datetime(written.headers["date"])).total_seconds() < 30


def test_a_delete_and_a_metadata_index_show_late_too() -> None:
    with running(DoubleOptions(visibility_seconds=(1000, 1000))) as handle, Client.connected(handle) as client:
        handle.double.create_index("late", DIMENSIONS, {"tenant_id": "string"})
        index = VectorIndex(client, "late")
        index.write([vector("a", metadata={"tenant_id": "t"})])
        handle.double.settle()
        client.post(f"{index.path}/delete_by_ids", {"ids": ["a"]})
        index.declare("more")
        listed = f"{index.path}/metadata_index/list"
        assert index.found(filter={"tenant_id": "t"}) == {"a"}
        assert len(client.get(listed).json()["result"]["metadataIndexes"]) == 1
        assert client.control("POST", "settle").status_code == 200
        assert index.found(filter={"tenant_id": "t"}) == set()
        assert len(client.get(listed).json()["result"]["metadataIndexes"]) == 2


def test_a_metadata_index_does_not_hold_vectors_of_its_own_batch() -> None:
    with running(DoubleOptions(visibility_seconds=(1000, 1000))) as handle, Client.connected(handle) as client:
        handle.double.create_index("late", DIMENSIONS)
        index = VectorIndex(client, "late")
        index.write([vector("running")])
        index.declare("color")
        index.write([vector("too-early", metadata={"color": "red"})])
        handle.double.settle()
        index.write([vector("in-time", metadata={"color": "red"})])
        handle.double.settle()
        assert index.found(filter={"color": "red"}) == {"in-time"}


def test_a_metadata_index_is_listed_before_it_is_ready_and_holds_nothing_until_then() -> None:
    options = DoubleOptions(visibility_seconds=(0, 0), metadata_index_seconds=(1000, 1000))
    with running(options) as handle, Client.connected(handle) as client:
        handle.double.create_index("late", DIMENSIONS)
        index = VectorIndex(client, "late")
        index.declare("color")
        listed = client.get(f"{index.path}/metadata_index/list").json()["result"]["metadataIndexes"]
        assert listed == [{"propertyName": "color", "indexType": "string"}]
        index.write([vector("too-early", metadata={"color": "red"})])
        handle.double.settle()
        assert (index.found(), index.found(filter={"color": "red"})) == ({"too-early"}, set())
        index.write([vector("in-time", metadata={"color": "red"})])
        assert index.found(filter={"color": "red"}) == {"in-time"}
        index.write([vector("too-early", metadata={"color": "red"})])
        assert index.found(filter={"color": "red"}) == {"too-early", "in-time"}, "written again, it is found"
