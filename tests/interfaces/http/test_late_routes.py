"""A route is made whole by what first asks for it, and not by a start."""

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from inspect import Signature
from threading import Barrier
from typing import Any

import httpx
import pytest
from fastapi import Depends, FastAPI

from app.interfaces.http.dependencies import CredentialFirst, ReadCaller
from app.interfaces.http.named_route import NamedRoute
from app.interfaces.http.router import Router

_THREADS = 8


class Declared:
    """What returns the settings of a route, and counts how often it was asked for them."""

    def __init__(self, *, failing: int = 0) -> None:
        self.failing = failing
        self.asked = 0

    def __call__(self) -> Mapping[str, Any]:
        self.asked += 1
        if self.asked <= self.failing:
            raise RuntimeError("no settings yet")
        return {"tags": ["plain"], "status_code": 202}


async def plain(number: int) -> dict[str, int]:
    return {"number": number}


def made(settings: Callable[[], Mapping[str, Any]]) -> NamedRoute:
    return NamedRoute("/plain/{number}", plain, method="GET", settings=settings)


async def test_the_first_request_makes_a_route_and_the_second_finds_it_made() -> None:
    settings = Declared()
    app = FastAPI()
    app.router.routes.append(made(settings))
    assert settings.asked == 0
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
        assert (await client.post("/plain/3")).status_code == 405, "its method is known before"
        assert (await client.get("/other")).status_code == 404
        assert settings.asked == 0
        for _ in range(2):
            answer = await client.get("/plain/3")
            assert (answer.status_code, answer.json()) == (202, {"number": 3})
        assert (await client.get("/plain/three")).status_code == 422
    assert settings.asked == 1


def test_threads_that_ask_together_find_one_whole_route() -> None:
    settings, start = Declared(), Barrier(_THREADS)
    route = made(settings)
    switched = sys.getswitchinterval()

    def ask(_: int) -> object:
        start.wait()
        return route.response_field

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            found = {id(field) for field in pool.map(ask, range(_THREADS))}
    finally:
        sys.setswitchinterval(switched)
    assert (len(found), settings.asked) == (1, 1)


def test_no_part_of_a_route_is_seen_while_it_is_made() -> None:
    seen: list[set[str]] = []

    class Watching:
        """A dependency that FastAPI looks at while it makes the route."""

        @property
        def __signature__(self) -> Signature:
            seen.append(vars(route).keys() - declared)
            return Signature()

        def __call__(self) -> None: ...

    route = made(lambda: {"dependencies": [Depends(Watching())]})
    declared = set(vars(route))
    assert len(route.dependant.dependencies) == 1
    assert seen
    assert not any(seen)


def test_a_route_that_could_not_be_made_says_why_each_time_and_is_made_once_it_can() -> None:
    route = made(Declared(failing=2))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no settings yet"):
            _ = route.dependant
    assert route.status_code == 202


def test_what_no_route_has_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = made(Declared()).no_such_thing


def test_a_route_without_a_scope_is_refused_where_it_is_declared() -> None:
    async def closed(caller: ReadCaller) -> None: ...

    assert CredentialFirst("/closed", closed, method="GET", settings=dict).scopes == ("read",)
    with pytest.raises(TypeError, match="/open does not say once which scopes it needs"):
        Router("plain").get("/open")(plain)
