"""How long the way of a request through the code is: it may grow shorter, and never longer.

A figure goes down with the way; docs/architecture.md has the aims.
"""

import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest

import app
from bench.short.following import followed, of_request
from tests.support.service import Service, serving

ROOT = str(Path(app.__file__).parent)
Call = Callable[[Service], Awaitable[httpx.Response]]


class Walk:
    """The files of the product that a request enters, and how deep its calls lie in one another."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.depth = 0

    def enter(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not of_request() or not frame.f_code.co_filename.startswith(ROOT):
            return
        self.files.add(frame.f_code.co_filename.removeprefix(ROOT))
        self.depth = max(self.depth, sum(outer.f_code.co_filename.startswith(ROOT) for outer in outwards(frame)))


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@contextmanager
def walking(walk: Walk) -> Iterator[None]:
    with followed():
        threading.setprofile(walk.enter)
        sys.setprofile(walk.enter)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


async def store(service: Service) -> httpx.Response:
    answer = await service.post("/store", {"agent_id": "bot", "content": "Ann drinks green tea."})
    await service.delivered()
    return answer


async def recall(service: Service) -> httpx.Response:
    return await service.post("/recall", {"agent_id": "bot", "query": "Which tea does Ann drink?"})


async def profile_recall(service: Service) -> httpx.Response:
    return await service.post("/profiles/bot/recall", {"query": "Which tea does Ann drink?"})


async def listing(service: Service) -> httpx.Response:
    return await service.client.get("/memories?agent_id=bot", headers=service.credential(admin=True))


async def usage(service: Service) -> httpx.Response:
    return await service.client.get("/usage", headers=service.credential(admin=True))


async def walked(service: Service, call: Call) -> Walk:
    """Return the way of one call. With much to do on the machine it may be longer: a read that waits calls for help."""
    walk = Walk()
    with walking(walk):
        answer = await call(service)
    assert answer.is_success, answer.text
    return walk


@pytest.mark.parametrize(
    ("call", "files", "depth", "settings"),
    [
        (store, 49, 14, {"sensitive_content": "off"}),
        (store, 51, 14, {}),  # its texts are screened: by one rule, and one detector
        (recall, 65, 16, {}),
        (profile_recall, 72, 18, {}),
        (listing, 32, 11, {}),
        (usage, 28, 11, {}),
    ],
)
async def test_the_way_through_the_code_grows_no_longer(
    tmp_path: Path, call: Call, files: int, depth: int, settings: Mapping[str, Any]
) -> None:
    async with serving(tmp_path, **settings) as service:
        await service.store("Ben drinks coffee.")
        assert (await call(service)).is_success  # what is done once, and what is kept for a while, is done now
        walk = min([await walked(service, call) for _ in range(5)], key=lambda walk: (walk.depth, len(walk.files)))
    assert len(walk.files) <= files, "\n".join(sorted(walk.files))
    assert walk.depth <= depth
    assert "/interfaces/http/dependencies.py" in walk.files
