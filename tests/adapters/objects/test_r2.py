"""R2 by its S3 API: each failure has its error, nothing is called twice, and nothing of a key is told."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from app.adapters.breaker import TIME_OUTS
from app.adapters.objects.r2 import R2Objects
from app.domain.errors import (
    CircuitOpen,
    CredentialsRefused,
    MemoryGatewayError,
    RateLimited,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.faults import Fault
from memory_gateway_double.server import Handle, running
from tests.contracts.test_object_store import r2

KEY = "t/acme/one"
Ask = Callable[[R2Objects], Coroutine[Any, Any, object]]


async def put(objects: R2Objects) -> None:
    await objects.put(KEY, b"x" * 1000, "text/plain")


async def get(objects: R2Objects) -> None:
    await objects.get(KEY, most=10_000)


async def delete(objects: R2Objects) -> None:
    await objects.delete(KEY)


async def list_all(objects: R2Objects) -> None:
    assert [page async for page in objects.list("t")]


CALLS: dict[str, Ask] = {"put": put, "get": get, "delete": delete, "list": list_all}


@pytest.fixture(scope="module")
def double() -> Iterator[Handle]:
    with running(DoubleOptions(rate_limit=False)) as handle:
        handle.double.r2.put(KEY, b"x" * 1000)
        yield handle


@pytest.fixture(autouse=True)
def _as_it_was(double: Handle) -> Iterator[None]:
    yield
    double.double.faults.clear()
    double.double.reset_calls()


@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, UpstreamRejected),
        (401, CredentialsRefused),
        (403, CredentialsRefused),
        (408, UpstreamTimeout),
        (429, RateLimited),
        (500, UpstreamUnavailable),
        (503, UpstreamOverloaded),
        (504, UpstreamTimeout),
    ],
)
async def test_each_refusal_has_its_error_and_is_not_asked_again(
    double: Handle, operation: str, status: int, expected: type[MemoryGatewayError]
) -> None:
    double.double.faults.add(Fault(f"r2.{operation}", status=status))
    with pytest.raises(expected) as caught:
        await CALLS[operation](r2(double))
    assert type(caught.value) is expected
    assert "acme" not in caught.value.detail
    assert double.double.calls() == {f"r2.{operation}": 1}


@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize("kind", ["cut", "after_effect_cut"])
async def test_a_connection_that_breaks_is_an_outage(double: Handle, operation: str, kind: Any) -> None:
    double.double.faults.add(Fault(f"r2.{operation}", kind=kind))
    with pytest.raises(UpstreamUnavailable):
        await CALLS[operation](r2(double))
    double.double.r2.put(KEY, b"x" * 1000)


@pytest.mark.parametrize("operation", ["get", "list"])
async def test_half_an_answer_is_never_taken_for_the_whole(double: Handle, operation: str) -> None:
    double.double.faults.add(Fault(f"r2.{operation}", kind="half_body"))
    with pytest.raises(UpstreamUnavailable):
        await CALLS[operation](r2(double))


@pytest.mark.parametrize("operation", CALLS)
async def test_a_store_that_hangs_is_waited_for_no_longer_than_its_time(double: Handle, operation: str) -> None:
    double.double.faults.add(Fault(f"r2.{operation}", kind="hang"))
    with pytest.raises(UpstreamTimeout):
        await CALLS[operation](r2(double, patience=0.005))


async def test_a_call_that_is_cancelled_ends_at_once(double: Handle) -> None:
    double.double.faults.add(Fault("r2.get", kind="hang"))
    asking = asyncio.create_task(get(r2(double)))
    while not double.double.calls():
        await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize("operation", CALLS)
async def test_a_bucket_that_is_not_there_is_no_missing_object(double: Handle, operation: str) -> None:
    with pytest.raises(UpstreamRejected, match="R2_BUCKET"):
        await CALLS[operation](r2(double, bucket="another"))


async def test_another_key_is_refused(double: Handle) -> None:
    with pytest.raises(CredentialsRefused, match="R2_ACCESS_KEY_ID"):
        await get(r2(double, key="another"))
    assert double.double.calls() == {"r2.get": 1}


async def test_a_host_that_is_not_there_is_an_outage() -> None:
    objects = R2Objects(
        endpoint="http://127.0.0.1:9", bucket="b", access_key_id="k", secret_access_key="s", metrics=Metrics()
    )
    with pytest.raises(UpstreamUnavailable):
        await objects.ping()


async def test_what_the_environment_has_for_amazon_does_not_reach_the_bucket(
    double: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "theirs",
        "AWS_SECRET_ACCESS_KEY": "theirs",
        "AWS_SESSION_TOKEN": "theirs",
        "AWS_ENDPOINT": "http://127.0.0.1:9",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_SKIP_SIGNATURE": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true",
        "AWS_UNSIGNED_PAYLOAD": "true",
    }.items():
        monkeypatch.setenv(name, value)
    await get(r2(double))
    (request,) = double.double.requests()
    assert "x-amz-security-token" not in request.headers


async def test_an_object_is_written_with_its_media_type(double: Handle) -> None:
    await r2(double).put("t/acme/page", b"<p>", "text/html")
    (request,) = double.double.requests()
    assert (request.method, request.headers["content-type"], request.body) == ("PUT", "text/html", b"<p>")


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
async def test_a_store_that_hangs_is_not_asked_again_for_a_while(double: Handle, ask: Ask) -> None:
    double.double.faults.add(Fault("r2.*", kind="hang", times=None))
    objects = r2(double, patience=0.01)
    for _ in range(TIME_OUTS):
        with pytest.raises(UpstreamTimeout):
            await ask(objects)
    calls = double.double.calls()
    with pytest.raises(CircuitOpen):
        await ask(objects)
    assert double.double.calls() == calls
