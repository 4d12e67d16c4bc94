"""The keys of an issuer are read seldom, hold while it is away, and are gone once it withdraws them."""

import asyncio
from typing import Any

import pytest

from app.domain.errors import IssuerUnavailable, Unauthenticated, UpstreamUnavailable
from app.services.access.issuer_keys import AGAIN_SECONDS, FRESH_SECONDS, IssuerKeys
from tests.support.issuers import MemoryIssuer, Seconds, jwk_of, keys_of

DOWN = UpstreamUnavailable("The issuer could not be reached.")


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


@pytest.fixture
def issuer() -> MemoryIssuer:
    return MemoryIssuer()


@pytest.fixture
def keys(issuer: MemoryIssuer, clock: Seconds) -> IssuerKeys:
    return keys_of(issuer, clock)


async def settled(issuer: MemoryIssuer, readings: int) -> None:
    """Wait until a reading beside the requests has ended."""
    while issuer.readings < readings:
        await asyncio.sleep(0)
    for _ in range(5):
        await asyncio.sleep(0)


async def test_keys_are_read_once_for_all_requests_that_wait(keys: IssuerKeys, issuer: MemoryIssuer) -> None:
    found = await asyncio.gather(*(keys.find("one", "ES256") for _ in range(20)))
    assert len({id(key) for key in found}) == 1
    assert issuer.readings == 1


async def test_a_key_that_the_issuer_has_just_published_is_found(
    keys: IssuerKeys, issuer: MemoryIssuer, clock: Seconds
) -> None:
    await keys.find("one", "ES256")
    issuer.jwks = [jwk_of("one"), jwk_of("two")]
    clock.now += AGAIN_SECONDS
    assert await keys.find("two", "ES256") is not await keys.find("one", "ES256")


async def test_made_up_keys_have_the_issuer_asked_once_in_ten_seconds(
    keys: IssuerKeys, issuer: MemoryIssuer, clock: Seconds
) -> None:
    for _ in range(3):
        for number in range(50):
            with pytest.raises(Unauthenticated):
                await keys.find(f"made up {number}", "ES256")
            await keys.find("one", "ES256")
        clock.now += AGAIN_SECONDS
    assert issuer.readings == 3


async def test_known_keys_hold_while_the_issuer_is_away_and_unknown_ones_are_an_outage(
    keys: IssuerKeys, issuer: MemoryIssuer, clock: Seconds
) -> None:
    key = await keys.find("one", "ES256")
    issuer.failure = DOWN
    clock.now += 3599
    assert await keys.find("one", "ES256") is key
    await settled(issuer, 2)
    with pytest.raises(IssuerUnavailable) as refused:
        await keys.find("two", "ES256")
    assert (refused.value.status, refused.value.retry_after) == (503, 10)
    assert await keys.find("one", "ES256") is key
    clock.now += 1
    with pytest.raises(IssuerUnavailable):
        await keys.find("one", "ES256")
    assert issuer.readings == 2


async def test_an_issuer_that_is_back_is_asked_again(keys: IssuerKeys, issuer: MemoryIssuer, clock: Seconds) -> None:
    issuer.failure = DOWN
    for _ in range(5):
        with pytest.raises(IssuerUnavailable):
            await keys.find("one", "ES256")
    assert issuer.readings == 1
    issuer.failure = None
    clock.now += AGAIN_SECONDS
    with pytest.raises(IssuerUnavailable):  # which begins to read, and does not wait for an issuer that was away
        await keys.find("one", "ES256")
    await settled(issuer, 2)
    assert await keys.find("one", "ES256")


async def test_a_withdrawn_key_holds_no_longer_once_the_keys_are_read_again(
    keys: IssuerKeys, issuer: MemoryIssuer, clock: Seconds
) -> None:
    await keys.find("one", "ES256")
    issuer.jwks = [jwk_of("two")]
    clock.now += FRESH_SECONDS
    await keys.find("one", "ES256")  # this request begins the reading, and does not wait for it
    await settled(issuer, 2)
    with pytest.raises(Unauthenticated):
        await keys.find("one", "ES256")


async def test_a_request_that_is_cancelled_does_not_cancel_the_reading_of_the_others(
    keys: IssuerKeys, issuer: MemoryIssuer
) -> None:
    answers = asyncio.Event()
    issuer.wait = answers.wait
    first, second = (asyncio.create_task(keys.find("one", "ES256")) for _ in range(2))
    await settled(issuer, 1)
    first.cancel()
    await settled(issuer, 1)
    answers.set()
    assert await second
    assert first.cancelled()


async def test_a_reading_that_goes_on_ends_with_the_service(keys: IssuerKeys, issuer: MemoryIssuer) -> None:
    issuer.wait = asyncio.Event().wait
    request = asyncio.create_task(keys.find("one", "ES256"))
    await settled(issuer, 1)
    await keys.close()
    with pytest.raises(asyncio.CancelledError):
        await request


@pytest.mark.parametrize(
    "jwk",
    [
        {},
        {"kid": "one"},
        jwk_of("one", kid=None),
        jwk_of("one", kid=1),
        jwk_of("one", use="enc"),
        jwk_of("one", alg="ES384"),
        jwk_of("one", crv="P-384"),
        jwk_of("one", x="AA"),
        jwk_of("one", x=1),
        jwk_of("one", y=None),
        jwk_of("one", "ES384"),
        jwk_of("one", kty="RSA"),
        {"kid": "one", "kty": "oct", "k": "c2VjcmV0"},
        {"kid": "one", "kty": "oct", "k": "c2VjcmV0", "alg": "ES256"},
        {"kid": "one", "kty": "RSA", "n": "wA", "e": "AQAB"},
        {"kid": "one", "kty": "RSA", "n": "f" * 20_000, "e": "AQAB"},
    ],
    ids=range(16),
)
async def test_a_key_that_is_weak_or_of_another_kind_verifies_nothing(
    keys: IssuerKeys, issuer: MemoryIssuer, jwk: Any
) -> None:
    issuer.jwks = [jwk, jwk_of("two")]
    for algorithm in ("ES256", "RS256"):
        with pytest.raises(Unauthenticated):
            await keys.find("one", algorithm)
    assert await keys.find("two", "ES256")


async def test_the_check_of_an_operator_counts_the_keys_that_can_be_used(
    keys: IssuerKeys, issuer: MemoryIssuer
) -> None:
    issuer.jwks = [jwk_of("one"), jwk_of("two"), {"kid": "three"}]
    assert await keys.check() == 2
    issuer.failure = DOWN
    with pytest.raises(UpstreamUnavailable):
        await keys.check()
