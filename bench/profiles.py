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
from bench.report import CPU, Figure
from bench.server import embedded
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running

_ROUNDS = 3
_CALLS = 300
_WARM_UP = 100
_MEMORIES = 10_000
_MOST_TIMES = 2.0
_MOST_TIMES_WITH_MODEL = 2.5

_Make = Callable[[int], Sequence[bytes]]


async def profiles() -> list[Figure]:
    """Measure how many times the CPU of a recall a profile's recall takes, on the embedded default.

    A language model answers in another process: its own time is not counted, but what it takes to ask it is.
    """
    (scope,) = one_agent()
    headers, asked = credential(scope), _questions()

    def plain(count: int) -> Sequence[bytes]:
        requests = (RecallRequest(agent_id=scope.agent_id, query=text) for text in islice(asked, count))
        return [post("/recall", request, headers) for request in requests]

    def of_profile(count: int) -> Sequence[bytes]:
        path = f"/profiles/{scope.agent_id}/recall"
        return [post(path, RecallProfileRequest(query=text), headers) for text in islice(asked, count)]

    async def costs(directory: Path, **settings: str) -> list[tuple[float, float]]:
        async with embedded(directory, "hashing", plain(1)[0], **settings) as server:
            for make in (of_profile, plain):
                await server.cost(make(_WARM_UP))
            return [(await server.cost(of_profile(_CALLS)), await server.cost(plain(_CALLS))) for _ in range(_ROUNDS)]

    options = DoubleOptions(rate_limit=False)
    with TemporaryDirectory(prefix="bench-profiles-") as directory, running(options) as double:
        await asyncio.to_thread(prefill, Path(directory), "hashing", [scope], _MEMORIES)
        without = await costs(Path(directory))
        with_model = await costs(
            Path(directory),
            LANGUAGE_MODEL="http",
            LANGUAGE_MODEL_NAME="double",
            LANGUAGE_MODEL_BASE_URL=double.openai_url,
            LANGUAGE_MODEL_API_KEY=options.openai_api_key,
        )
    where = "10k in one agent, hashing"
    return [
        *_figures("recall of a profile", where, without, _MOST_TIMES),
        *_figures("recall of a profile with a language model", where, with_model, _MOST_TIMES_WITH_MODEL),
    ]


def _figures(name: str, where: str, costs: Sequence[tuple[float, float]], limit: float) -> list[Figure]:
    return [
        Figure(f"{name}, {where}", CPU, [profile for profile, _ in costs]),
        Figure(
            f"{name} beside POST /recall, {where}",
            "times",
            [profile / recall for profile, recall in costs],
            limit=limit,
        ),
    ]


def _questions() -> Iterator[str]:
    """Yield questions that memories answer, no two the same."""
    for note in notes(SEED):
        yield f"Why is it that {note.partition(' because')[0]}?"
