"""What the rows that recalls leave in the audit cost: a service that keeps them and one that does not, in turn."""

import asyncio
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from app.interfaces.http.schemas.recall import RecallRequest
from bench.client import drive, post
from bench.data import credential, one_agent, questions
from bench.prefill import SEED, prefill
from bench.report import Figure
from bench.server import Server, embedded

_ROUNDS = 3
_RECALLS = 800
_PIECES = 8
"""Both take turns so often within a round."""
_WARM_UP = 200
_MEMORIES = 10_000
_WRITTEN_SECONDS = 31.0
"""By then the rows of the last recalls are written."""


async def audit() -> list[Figure]:
    """Measure how many times the user CPU of recalls that leave no row the same recalls take, on the embedded default.

    The rows are written behind the answers: each round waits until they are.
    """
    (scope,) = one_agent()
    headers, asked = credential(scope), questions(SEED)

    def recalls(count: int) -> list[bytes]:
        requests = (RecallRequest(agent_id=scope.agent_id, query=text) for text in islice(asked, count))
        return [post("/recall", request, headers) for request in requests]

    async def of_round(keeping: Server, bare: Server) -> tuple[float, float]:
        before = _user(keeping), _user(bare)
        for piece in range(_PIECES):
            requests = recalls(_RECALLS // _PIECES)
            for server in (keeping, bare) if piece % 2 else (bare, keeping):
                await drive(server.port, requests)
        await asyncio.sleep(_WRITTEN_SECONDS)
        spent = _user(keeping) - before[0], _user(bare) - before[1]
        return spent[0] * 1000 / _RECALLS, spent[1] * 1000 / _RECALLS

    (first,) = recalls(1)
    with TemporaryDirectory(prefix="bench-audit-") as one, TemporaryDirectory(prefix="bench-audit-") as other:
        for directory in (one, other):
            await asyncio.to_thread(prefill, Path(directory), "hashing", [scope], _MEMORIES)
        async with (
            embedded(Path(one), "hashing", first) as keeping,
            embedded(Path(other), "hashing", first, AUDIT_RECALLS="false") as bare,
        ):
            for server in (keeping, bare):
                await drive(server.port, recalls(_WARM_UP))
            rounds = [await of_round(keeping, bare) for _ in range(_ROUNDS)]
    where = "10k in one agent, hashing"
    return [
        Figure(f"recall, its row in the audit written, {where}", "ms user CPU", [kept for kept, _ in rounds]),
        Figure(
            f"recall with its row in the audit beside one without, {where}",
            "times",
            [kept / none for kept, none in rounds],
        ),
    ]


def _user(server: Server) -> float:
    """Return the seconds of user CPU that a server's process has used, all threads together."""
    return float(server.process.cpu_times().user)
