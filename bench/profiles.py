"""What a recall of a profile costs beside ``POST /recall``: one service, the same questions, both in turn."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from app.interfaces.http.schemas.profiles import RecallProfileRequest
from app.interfaces.http.schemas.recall import RecallRequest
from bench.client import post
from bench.data import credential, notes, one_agent
from bench.prefill import SEED, prefill
from bench.report import Figure
from bench.server import embedded

_ROUNDS = 7
_CALLS = 300
_WARM_UP = 100
_MEMORIES = 10_000
_MOST_TIMES = 2.0

_Make = Callable[[int], Sequence[bytes]]


async def profiles() -> list[Figure]:
    """Measure how many times the CPU of a recall a profile's recall takes, on the embedded default."""
    (scope,) = one_agent()
    headers, asked = credential(scope), _questions()

    def plain(count: int) -> Sequence[bytes]:
        requests = (RecallRequest(agent_id=scope.agent_id, query=text) for text in islice(asked, count))
        return [post("/recall", request, headers) for request in requests]

    def of_profile(count: int) -> Sequence[bytes]:
        path = f"/profiles/{scope.agent_id}/recall"
        return [post(path, RecallProfileRequest(query=text), headers) for text in islice(asked, count)]

    with TemporaryDirectory(prefix="bench-profiles-") as directory:
        await asyncio.to_thread(prefill, Path(directory), "hashing", [scope], _MEMORIES)
        async with embedded(Path(directory), "hashing", plain(1)[0]) as server:
            for make in (of_profile, plain):
                await server.cost(make(_WARM_UP))
            costs = [(await server.cost(of_profile(_CALLS)), await server.cost(plain(_CALLS))) for _ in range(_ROUNDS)]
    where = "10k in one agent, hashing"
    times = [profile / recall for profile, recall in costs]
    return [
        Figure(f"recall of a profile, {where}", "ms CPU", [profile for profile, _ in costs]),
        Figure(f"recall of a profile beside POST /recall, {where}", "times", times, limit=_MOST_TIMES),
    ]


def _questions() -> Iterator[str]:
    """Yield questions that memories answer, no two the same."""
    for note in notes(SEED):
        yield f"Why is it that {note.partition(' because')[0]}?"
