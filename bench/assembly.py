"""What an assembly takes beside its slowest part alone: on Cloudflare's double, each in turn in one service."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from bench.client import drive, get, post_json, put_json
from bench.data import credential, notes, one_agent, questions
from bench.report import Figure
from bench.server import Server, service
from bench.upstream import account, slow_down

_MOST_TIMES = 1.3
_ROUNDS = 3
_OPERATIONS = 10
_WARM_UP = 3
_NOTES = 20
_SEED = 6
_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"

_Make = Callable[[], Sequence[bytes]]


async def assembly() -> list[Figure]:
    """Measure how many times the wall time of its slowest part an assembly takes, with and without prefetch."""
    (scope,) = one_agent()
    parts, wholes = _requests(scope.agent_id, credential(scope))
    with tempfile.TemporaryDirectory() as directory:
        async with (
            account(Path(directory)) as settings,
            service(Path(directory), settings, get("/context", credential(scope))) as server,
        ):
            await _furnish(server, scope.agent_id, credential(scope, admin=True))
            for make in (*parts.values(), *(make for make, _ in wholes.values())):
                await drive(server.port, make()[:_WARM_UP], clients=1)
            slow_down(settings["OPENAI_BASE_URL"].removesuffix("/v1"))
            rounds = [await _round(server, parts, wholes) for _ in range(_ROUNDS)]
    figures = [Figure(f"part alone on Cloudflare: {name}", "ms", [each[name] for each in rounds]) for name in parts]
    for name, (_, of_parts) in wholes.items():
        taken = [each[name] for each in rounds]
        slowest = [max(each[part] for part in of_parts) for each in rounds]
        ratios = [one / other for one, other in zip(taken, slowest, strict=True)]
        figures += [
            Figure(f"assembly on Cloudflare, {name}", "ms", taken, slowest),
            Figure(f"assembly on Cloudflare, {name}, over its slowest part", "x", ratios, limit=_MOST_TIMES),
        ]
    return figures


def _requests(
    agent_id: str, headers: Mapping[str, str]
) -> tuple[dict[str, _Make], dict[str, tuple[_Make, Sequence[str]]]]:
    """Return what asks for each part, and what assembles, with the parts that it is of; no question comes twice."""
    asked = questions(_SEED)
    body: dict[str, Any] = {"agent_id": agent_id, "instance": "i", "agent_type": "support"}
    selecting = {"task_type": "answer"}

    def again(request: bytes) -> _Make:
        return lambda: [request] * _OPERATIONS

    def recalls() -> Sequence[bytes]:
        texts = islice(asked, _OPERATIONS)
        return [post_json("/recall", {"agent_id": agent_id, "query": text}, headers) for text in texts]

    def prefetching() -> Sequence[bytes]:
        bodies = [body | selecting | {"query": text, "prefetch": True} for text in islice(asked, _OPERATIONS)]
        return [post_json("/context/assemble", each, headers) for each in bodies]

    parts = {
        "shared context": again(get("/context/style", headers)),
        "episodes": again(get("/episodes?agent_type=support", headers)),
        "window": again(get(f"/working/{agent_id}/i/window", headers)),
        "facts": again(get(f"/facts?agent_id={agent_id}", headers)),
        "workflow": again(post_json("/workflows/select", {"agent_type": "support", **selecting}, headers)),
        "recall": recalls,
    }
    tiers = ("shared context", "episodes", "window", "facts")
    wholes: dict[str, tuple[_Make, Sequence[str]]] = {
        "without prefetch": (again(post_json("/context/assemble", body, headers)), tiers),
        "without prefetch, with a workflow": (
            again(post_json("/context/assemble", body | selecting, headers)),
            (*tiers, "workflow"),
        ),
        "with prefetch and a workflow": (prefetching, (*tiers, "workflow", "recall")),
    }
    return parts, wholes


async def _round(
    server: Server, parts: Mapping[str, _Make], wholes: Mapping[str, tuple[_Make, Sequence[str]]]
) -> dict[str, float]:
    """Return the median wall milliseconds of each, one request at a time; each assembly takes its turn among them."""
    makes = {**parts, **{name: make for name, (make, _) in wholes.items()}}
    taken: dict[str, list[float]] = {name: [] for name in makes}
    requests = {name: make() for name, make in makes.items()}
    for number in range(_OPERATIONS):
        for name in makes:
            taken[name] += await drive(server.port, [requests[name][number]], clients=1)
    return {name: median(seconds) * 1000 for name, seconds in taken.items()}


async def _furnish(server: Server, agent_id: str, admin: Mapping[str, str]) -> None:
    """Give an agent something in every tier."""
    run = {"agent_id": agent_id, "agent_type": "support", "input": None, "run_id": _RUN}
    texts = list(islice(notes(_SEED), _NOTES))
    said = [{"role": "user", "content": text} for text in texts]
    workflow = {"agent_type": "support", "task_type": "answer", "spec": {"steps": ["look up"]}}
    fact = {"agent_id": agent_id, "subject": "customer", "predicate": "lives in", "object": "Oslo"}
    requests = [
        put_json("/context/style", {"content": "Answer briefly."}, admin),
        put_json("/workflows/look-up", workflow, admin),
        post_json("/runs", run, admin),
        post_json(f"/runs/{_RUN}/episodes", {"episodes": [{"type": "note", "content": text} for text in texts]}, admin),
        post_json("/facts", fact, admin),
        post_json(f"/working/{agent_id}/i/messages", {"messages": said}, admin),
        *(post_json("/store", {"agent_id": agent_id, "content": text}, admin) for text in texts),
    ]
    for request in requests:
        await drive(server.port, [request])
