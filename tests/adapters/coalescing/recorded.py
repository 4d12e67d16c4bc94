"""A call that waits until it is let go, and remembers what it was given."""

import asyncio
from collections.abc import Sequence


class Recorded:
    """Answers each request with itself in capitals; refuses a call that has a "bad" one."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.gate = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self, requests: Sequence[str]) -> Sequence[str]:
        self.calls.append(list(requests))
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        if "bad" in requests:
            raise ValueError("bad")
        return [request.upper() for request in requests]


async def turns(count: int = 5) -> None:
    """Let other tasks go on."""
    for _ in range(count):
        await asyncio.sleep(0)
