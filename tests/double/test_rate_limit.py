"""Who is let in, and how often."""

import time
from collections.abc import Iterator

import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.clock import Clock
from memory_gateway_double.rate_limit import RateLimit
from memory_gateway_double.server import running
from memory_gateway_double.wire import Refusal
from tests.double.conftest import Client, code


class HandClock(Clock):
    """Stands still until it is moved."""

    seconds = 0.0

    def now(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def limit(clock: HandClock) -> RateLimit:
    return RateLimit(clock, enforced=True)


def test_twelve_hundred_calls_pass_in_a_window(clock: HandClock, limit: RateLimit) -> None:
    for n in range(2400):
        clock.seconds = n * 0.25
        limit.take()


def test_past_the_limit_every_call_is_blocked_for_five_minutes(clock: HandClock, limit: RateLimit) -> None:
    for _ in range(1200):
        limit.take()
    for moment, wait in [(0, "300"), (100.5, "200"), (299.9, "1")]:
        clock.seconds = moment
        with pytest.raises(Refusal, match="More than 1200 requests per 300 seconds reached") as refused:
            limit.take()
        assert (refused.value.reply.status, refused.value.reply.headers["retry-after"]) == (429, wait)
    clock.seconds = 300
    limit.take()


def test_every_answer_tells_what_is_left(clock: HandClock, limit: RateLimit) -> None:
    assert limit.headers() == {"Ratelimit": '"default";r=1200;t=300', "Ratelimit-Policy": '"default";q=1200;w=300'}
    limit.take()
    clock.seconds = 100
    assert limit.headers()["Ratelimit"] == '"default";r=1199;t=200'


@pytest.fixture(scope="module")
def blocked() -> Iterator[Client]:
    """A client that has used up its calls; 300 seconds of its double are 3."""
    with running(DoubleOptions(time_scale=100)) as handle, Client.connected(handle) as client:
        for _ in range(1199):
            handle.double.rate_limit.take()
        assert client.get("/d1/database").status_code == 200
        yield client


def test_the_block_holds_for_all_of_cloudflare_and_then_ends(blocked: Client) -> None:
    answer = blocked.get("/vectorize/v2/indexes")
    assert code(answer) == (429, 971)
    assert answer.json()["errors"][0]["message"] == (
        "More than 1200 requests per 300 seconds reached. Please wait and consider throttling your request speed"
    )
    assert answer.headers["ratelimit"].startswith('"default";r=0;t=')
    assert 1 <= int(answer.headers["retry-after"]) <= 3
    assert blocked.openai({"model": "text-embedding-3-small", "input": "a"}).status_code == 200
    assert blocked.control("PUT", "options", {"time_scale": 10_000}).status_code == 200
    time.sleep(0.05)
    passed = blocked.get("/vectorize/v2/indexes")
    assert passed.status_code == 200
    assert "retry-after" not in passed.headers


def test_the_limit_can_be_turned_off() -> None:
    limit = RateLimit(HandClock(), enforced=False)
    for _ in range(2000):
        limit.take()


@pytest.mark.parametrize("authorization", ["Bearer wrong", "Basic x", ""])
def test_a_wrong_token_is_refused(client: Client, authorization: str) -> None:
    answer = client.call("GET", "/d1/database", headers={"Authorization": authorization})
    assert code(answer) == (401, 10000)


@pytest.mark.parametrize(
    ("account", "path", "expected"),
    [
        ("1" * 32, "/d1/database", (403, 7403)),
        ("1" * 32, "/vectorize/v2/indexes", (403, 10000)),
        ("mine", "/d1/database", (404, 7003)),
        ("0" * 32, "/d2/database", (404, 7003)),
    ],
)
def test_another_account_or_path_is_refused(client: Client, account: str, path: str, expected: tuple[int, int]) -> None:
    url = f"{client.handle.cloudflare_url}/accounts/{account}{path}"
    assert code(client.http.get(url, headers={"Authorization": "Bearer double-token"})) == expected


def test_a_method_that_a_path_does_not_take_is_refused(client: Client) -> None:
    assert code(client.call("PATCH", "/d1/database")) == (405, 7001)


def test_every_answer_has_the_headers_of_the_real_one(client: Client) -> None:
    for answer in (client.get("/d1/database"), client.get("/nothing")):
        assert {"date", "cf-ray", "ratelimit", "ratelimit-policy"} <= set(answer.headers)


@pytest.mark.parametrize("path", ["/user", "/user/tokens/verify", "/accounts", "/memberships", f"/accounts/{'0' * 32}"])
def test_who_the_token_belongs_to_can_be_asked(client: Client, path: str) -> None:
    url = client.handle.cloudflare_url + path
    assert client.http.get(url, headers={"Authorization": "Bearer double-token"}).json()["success"] is True
    assert client.http.get(url).status_code == 401
