"""The stores that users have, in shapes that differ in cost, and what is asked of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path

from app.domain.memory import NewMemory, Scope
from bench.data import Requests, agents, one_agent, tenants
from bench.prefill import SPAN_MS, fact, ingest, prefill

_RARE = 10_000
_LARGEST = 32 * 1024
_ONE_OF = agents(20)
INSTALLED = {"WORKERS": "1", "REQUEST_WAIT_SECONDS": "60", "READER": "auto"}
"""One process, in which a request of many waits for its turn however long that is: none is refused. The rest is as in
a first `make run`."""
ALONE = {**INSTALLED, "READER": "none"}
"""What a store in the table is served with, unless it says otherwise: its reader takes turns of its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of request: what makes so many of them, and how many make a round."""

    make: Callable[[Requests, int], list[bytes]]
    operations: int = 100
    behind_stores: bool = False
    """Whether each second request is a store, whose cost is taken off."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A store: how it is filled, by a function that another process can be given, who is asked, and for what."""

    name: str
    fill: Callable[[Path], None]
    asked: Sequence[Scope]
    rows: Sequence[str]
    embedder: str = "hashing"
    settings: Mapping[str, str] = field(default_factory=lambda: ALONE)


def _filtered(where: Mapping[str, object]) -> Row:
    return Row(lambda requests, count: requests.questions(count, filter=where))


def _newer_half(requests: Requests, count: int) -> list[bytes]:
    """Ask for what was stored in the newer half of the time that a fill covers."""
    half = datetime.fromtimestamp(datetime.now(UTC).timestamp() - SPAN_MS / 2000, UTC)
    return requests.questions(count, filter={"created_after": half.isoformat()})


def _behind_stores(requests: Requests, count: int) -> list[bytes]:
    return list(chain.from_iterable(zip(requests.stores(count // 2), requests.questions(count // 2), strict=True)))


def _of_nobody(requests: Requests, count: int) -> list[bytes]:
    return requests.questions(count, agent_id="nobody")


SHORT, LONG, STORE, FACTS = "recall, short question", "recall, 60 words", "store", "facts/recall"
ALL, HALF, RARE, NONE = (
    f"recall, metadata filter, {passing}" for passing in ("all pass", "half", "1 in 10,000", "none")
)
TIME, EMPTY = "recall, time filter, half pass", "recall of an empty agent"
LARGEST, WRITER = "recall, question of 32 KiB", "recall, each behind a store"
ROWS: Mapping[str, Row] = {
    SHORT: Row(Requests.questions),
    LONG: Row(Requests.recalls_of_messages, 60),
    ALL: _filtered({"metadata": {"every": 1}}),
    HALF: _filtered({"metadata": {"half": 1}}),
    RARE: _filtered({"metadata": {"one": 7}}),
    NONE: _filtered({"metadata": {"every": 2}}),
    TIME: Row(_newer_half),
    EMPTY: Row(_of_nobody, 200),
    LARGEST: Row(lambda requests, count: requests.recalls_of_bytes(count, _LARGEST), 6),
    STORE: Row(Requests.stores, 200),
    WRITER: Row(_behind_stores, 100, behind_stores=True),
    FACTS: Row(Requests.recalls_of_facts, 30),
}
"""In the order in which they are measured: the last but one change the data."""


def labelled(number: int, note: str) -> NewMemory:
    """Return a memory whose metadata all, half, or one of 10,000 have."""
    return NewMemory(note, {"every": 1, "half": number % 2, "one": number % _RARE, "topic": f"t{number % 10}"})


def _fill(
    directory: Path, *, embedder: str = "hashing", beside: Sequence[Scope] = (), scopes: Sequence[Scope], memories: int
) -> None:
    """Fill the scopes; as many memories again are shared by those beside."""
    if beside:
        prefill(directory, embedder, beside, memories, labelled)
    prefill(directory, embedder, scopes, memories, labelled)


def _shape(
    name: str,
    rows: Sequence[str],
    scopes: Sequence[Scope],
    fill: Callable[..., None],
    *,
    embedder: str = "hashing",
    settings: Mapping[str, str] = ALONE,
) -> Shape:
    """Return a store whose scopes are filled and asked."""
    return Shape(name, partial(fill, embedder=embedder, scopes=scopes), scopes, rows, embedder, settings)


_ALL_ROWS = [name for name in ROWS if name != FACTS]
_FEW_ROWS = [SHORT, LONG, ALL, EMPTY, STORE]
_1K, _10K, _100K = (partial(_fill, memories=memories) for memories in (1_000, 10_000, 100_000))
_10K_OF_20 = partial(_fill, memories=10_000, beside=_ONE_OF[1:])
LARGE = _shape("100k in one agent", [name for name in _ALL_ROWS if name != WRITER], one_agent(), _100K)
USUAL = _shape("10k in one of 20 agents", _ALL_ROWS, _ONE_OF[:1], _10K_OF_20)
COLUMNS = (
    _shape("1k in one agent", _ALL_ROWS, one_agent(), _1K),
    USUAL,
    _shape("10k over 20 agents", _FEW_ROWS, _ONE_OF, _10K),
    _shape("10k over 1,000 agents", _FEW_ROWS, agents(1000), _10K),
    LARGE,
    _shape("100k over 100 tenants", _FEW_ROWS, tenants(100), _100K),
)
"""The columns of the table."""
MODEL = _shape("10k in one of 20 agents, MiniLM", _FEW_ROWS, _ONE_OF[:1], _10K_OF_20, embedder="local")
_READ = "1k in one agent, MiniLM and its reader, as installed"
OTHERS = (
    MODEL,
    _shape("1k in one agent, MiniLM", [SHORT], one_agent(), _1K, embedder="local"),
    _shape(_READ, [SHORT], one_agent(), _1K, embedder="local", settings=INSTALLED),
    _shape("10k of ingested conversations", [SHORT, LONG], one_agent(), partial(ingest, messages=10_000)),
    _shape("20k facts in one agent", [FACTS], one_agent(), partial(prefill, memories=20_000, making=fact)),
)
"""The other stores, of which fewer things are asked."""


def first_request(shape: Shape) -> bytes:
    """Return what a service of the store answers first."""
    (request,) = islice(Requests(shape.asked, seed=0).questions(1), 1)
    return request
