"""Laws of working memory: keys against a memory of plain Python on virtual time, and windows among faults and kills."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain import limits
from app.domain.errors import ContentTooLarge, MemoryGatewayError, NotFound, PreconditionFailed, UpstreamTimeout
from app.domain.messages import NewMessage
from app.domain.preconditions import Precondition
from app.runtime.ingestions import resume_once
from app.runtime.windows import settle_once
from app.services.tiers.windows import WindowService
from app.services.tiers.working import WorkingMemory
from tests.simulation import clock
from tests.simulation.intercept import Effect, PortCall
from tests.simulation.killer import KilledError, Killer, Moment
from tests.simulation.world import Replica, World, world
from tests.support.backends import BackendName, running_on
from tests.support.gateways import ADMINISTRATOR, bench_on
from tests.support.generation import ON_THE_DOUBLE, examples

T = TypeVar("T")

KEYS = st.sampled_from(["a", "b", "c"])
LARGE = "x" * 50_000
ACTS = st.one_of(
    st.tuples(st.just("put"), KEYS, st.sampled_from([1, "two", LARGE]), st.sampled_from([60, 300, 3600])),
    st.tuples(st.just("swap"), KEYS, st.sampled_from(["current", "old", "any", "absent"]), st.integers(0, 9)),
    st.tuples(st.just("delete"), KEYS, st.sampled_from(["current", "old", "any", "absent", "none"])),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 30.0, 61.0, 400.0])),
)
Act: TypeAlias = tuple[Any, ...]


@dataclass
class Model:
    """What an instance must hold: by key the value, its version and when it ends; and every version ever given."""

    now: Callable[[], float] = clock.now
    held: dict[str, tuple[Any, int, float]] = field(default_factory=dict)
    old: dict[str, int] = field(default_factory=dict)
    versions: set[int] = field(default_factory=set)

    def living(self) -> dict[str, tuple[Any, int, float]]:
        return {key: each for key, each in self.held.items() if each[2] > self.now()}

    def condition(self, key: str, kind: str) -> tuple[Precondition, bool]:
        """Return a precondition of a kind, and whether it holds."""
        now = self.living().get(key)
        match kind:
            case "none":
                return Precondition(), True
            case "any":
                return Precondition(["*"]), now is not None
            case "absent":
                return Precondition(absent=True), now is None
            case "current":
                return Precondition([str(now[1])] if now else ["1"]), now is not None
            case _:
                return Precondition([str(self.old.get(key, 2))]), False

    def fits(self, key: str, value: Any) -> bool:
        sizes = [_size(other, each[0]) for other, each in self.living().items() if other != key]
        return sum(sizes) + _size(key, value) <= limits.WORKING_BYTES


def _size(key: str, value: Any) -> int:
    return len(key) + (len(value) + 2 if isinstance(value, str) else len(str(value)))


async def _set(memory: WorkingMemory, model: Model, key: str, value: Any, ttl: int, kind: str) -> None:
    only, holds = model.condition(key, kind)
    existed = key in model.living()
    try:
        written = await memory.set("bot", "i", key, value, ttl_seconds=ttl, only=only)
    except PreconditionFailed:
        assert not holds
    except ContentTooLarge:
        assert holds
        assert not model.fits(key, value)
    else:
        version = written.value.version
        assert holds
        assert model.fits(key, value)
        assert (written.created, version not in model.versions) == (not existed, True)
        if key in model.held:
            model.old[key] = model.held[key][1]
        model.versions.add(version)
        model.held[key] = (value, version, model.now() + ttl)


async def _delete(memory: WorkingMemory, model: Model, key: str, kind: str) -> None:
    only, holds = model.condition(key, kind)
    try:
        await memory.delete("bot", "i", key, only)
    except PreconditionFailed:
        assert not holds
    else:
        assert holds
        if key in model.held:
            model.old[key] = model.held.pop(key)[1]


async def _as_the_model(
    memory: WorkingMemory, model: Model, acts: Sequence[Act], wait: Callable[[float], Awaitable[None]]
) -> None:
    """Do the same to the memory and to the model, and compare them after each act."""
    for act in acts:
        match act:
            case "put", key, value, ttl:
                await _set(memory, model, key, value, ttl, "none")
            case "swap", key, kind, value:
                await _set(memory, model, key, value, 300, kind)
            case "delete", key, kind:
                await _delete(memory, model, key, kind)
            case _, seconds:
                await wait(seconds)
        contents = await memory.list("bot", "i")
        living = {key: each[:2] for key, each in model.living().items()}
        assert {each.key: (each.value, each.version) for each in contents.keys} == living
        assert contents.used_bytes == sum(_size(key, each[0]) for key, each in living.items())
        for key in "abc":
            try:
                held = await memory.get("bot", "i", key)
            except NotFound:
                assert key not in living
            else:
                assert (held.value, held.version) == living[key]


@given(st.lists(ACTS, max_size=30))
@settings(max_examples=examples(100))
def test_keys_are_what_a_memory_of_plain_python_holds(acts: list[Act]) -> None:
    async def live() -> None:
        async with world("embedded", 1) as made:
            await _as_the_model(WorkingMemory(_tenant(made.replica())), Model(), acts, asyncio.sleep)

    clock.run(live())


def keys_as_the_model(acts: Sequence[Act], directory: Path, on: BackendName) -> None:
    """Hold the law on the clock of the database: what waits makes its rows older."""

    async def live() -> None:
        with running_on(on) as backend:
            async with bench_on(directory, backend) as bench:
                waited: list[float] = []

                async def wait(seconds: float) -> None:
                    bench.later(int(seconds))
                    waited.append(seconds)

                memory = WorkingMemory(bench.backends.of_tenant("acme", ADMINISTRATOR))
                await _as_the_model(memory, Model(lambda: sum(waited)), acts, wait)

    asyncio.run(live())


@pytest.mark.cloudflare
@given(acts=st.lists(ACTS, max_size=30))
@settings(deadline=None, max_examples=ON_THE_DOUBLE)
def test_keys_are_what_a_memory_of_plain_python_holds_on_the_double(
    acts: list[Act], tmp_path_factory: pytest.TempPathFactory
) -> None:
    keys_as_the_model(acts, tmp_path_factory.mktemp("law"), "cloudflare")


class _Faults:
    """Lets chosen calls fail before their effect, or lose their answers after it; the script begins again and again."""

    def __init__(self, script: Sequence[str]) -> None:
        self._script = cycle([*script, "fine"])

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        del call
        fault = next(self._script)
        if fault == "before":
            raise UpstreamTimeout("Nothing came of it.")
        answer = await effect()
        if fault == "after":
            raise UpstreamTimeout("The answer was lost.")
        return answer


def _tenant(replica: Replica) -> Any:
    return replica.backends.of_tenant("acme", ADMINISTRATOR)


def _said(number: int) -> NewMessage:
    return NewMessage("user", f"turn {number:03}".ljust(20, "x"))


def _window(made: World) -> list[str]:
    return made.file.column_of("working_turn", "content", by="place")


def _memories(made: World) -> list[str]:
    return made.file.column_of("long_term_memory", "content", by="happened_at")


def _told(made: World) -> list[str]:
    """Return the sentences of all summaries: each is a turn that fell out of the window."""
    return [told["text"] for row in made.file.column_of("working_summary", "sentences") for told in json.loads(row)]


def _nothing_is_lost(made: World, appended: set[str]) -> None:
    memories = _memories(made)
    assert appended <= {*_window(made), *memories}
    assert len(set(memories)) == len(memories)
    assert len(set(_window(made))) == len(_window(made))
    told = _told(made)
    assert len(set(told)) == len(told)
    assert {f"user: {content}" for content in memories} >= set(told)
    assert not set(told) & {f"user: {content}" for content in _window(made)}


async def _append(replica: Replica, message: NewMessage, appended: set[str]) -> None:
    """Append a message, as often as it takes until it is taken."""
    for _ in range(50):
        try:
            await WindowService(_tenant(replica)).append("bot", "i", [message], ttl_seconds=600)
        except MemoryGatewayError:
            await asyncio.sleep(1)
            continue
        appended.add(message.content)
        return
    raise AssertionError("It was never taken.")


async def _come_to_rest(made: World) -> None:
    """Let another process do what is left, as long as it takes."""
    made.replicas.clear()
    successor = made.replica()
    for _ in range(8):
        await resume_once(successor.backends)
        await settle_once(successor.backends)
        await asyncio.sleep(400)
    await successor.backends.background.close()


STEPS = st.one_of(
    st.tuples(st.sampled_from(["append", "append", "elsewhere"]), st.integers(2, 5)),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 70.0, 700.0])),
    st.tuples(st.just("round"), st.just(0)),
)


@given(
    st.lists(STEPS, min_size=2, max_size=14),
    st.lists(st.sampled_from(["fine", "fine", "fine", "before", "after"]), max_size=30),
    st.sampled_from([None, None, None, 3, 8, 15, 20, 30, 50, 80]),
    st.sampled_from([0, 1, 2, float("inf")]),
)
@settings(max_examples=examples(120))
def test_a_message_is_in_the_window_or_in_long_term_memory_whatever_fails(
    steps: list[tuple[str, Any]], faults: list[str], killed_at: int | None, done: float
) -> None:
    async def live() -> None:
        async with world("embedded", 1) as made:
            killer = Killer(made.file, None if killed_at is None else Moment(killed_at, done))
            victim, other = made.replica(killer, _Faults(faults)), made.replica()
            appended: set[str] = set()
            number = 0
            try:
                for step, value in steps:
                    if step in {"append", "elsewhere"}:
                        for _ in range(value):
                            number += 1
                            await _append(victim if step == "append" else other, _said(number), appended)
                            _nothing_is_lost(made, appended)
                    elif step == "wait":
                        await asyncio.sleep(value)
                    else:
                        await _round(victim)
                    _nothing_is_lost(made, appended)
            except KilledError:
                pass
            with suppress(KilledError):
                await victim.backends.background.close()
            await other.backends.background.close()
            _nothing_is_lost(made, appended)
            await _come_to_rest(made)
            _nothing_is_lost(made, appended)
            assert _window(made) == []
            assert appended <= set(_memories(made))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "WINDOW_BYTES", 60)
        clock.run(live())


async def _round(replica: Replica) -> None:
    try:
        await settle_once(replica.backends)
    except MemoryGatewayError:
        await asyncio.sleep(1)
