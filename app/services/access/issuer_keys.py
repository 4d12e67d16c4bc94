"""The public keys of one issuer, read when they are needed and kept for a while."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jwt
import structlog
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from app.domain.errors import IssuerUnavailable, Unavailable
from app.ports.issuer import READ_SECONDS, Issuer, IssuerDocument, Jwk
from app.services.access.credentials import refused

FRESH_SECONDS = 600.0
"""Keys of this age are read anew beside the requests: a key that the issuer has withdrawn holds so much longer."""
AGAIN_SECONDS = 10.0
"""The least time between two readings: tokens with made-up keys cannot have the issuer called more often."""
_RSA_BITS = range(2048, 8193)
_FORMS: Mapping[str, tuple[str, str | None, tuple[str, ...]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None, ("n", "e"))),
    "ES256": ("EC", "P-256", ("crv", "x", "y")),
    "ES384": ("EC", "P-384", ("crv", "x", "y")),
    "ES512": ("EC", "P-521", ("crv", "x", "y")),
    "EdDSA": ("OKP", "Ed25519", ("crv", "x")),
}
"""The type of key, the curve and the public members of a key by algorithm (RFC 7518, RFC 8037)."""

PublicKey = Any
"""A key as PyJWT verifies with it."""
Key = tuple[str | int, str]
"""A key's id, or of a key without one its number, and an algorithm."""


class IssuerKeys:
    """Keeps what the issuer published last.

    Known keys hold while the issuer does not answer, until they are ``max_age_seconds`` old. A token with an unknown
    key has the keys read again, at most once in ``AGAIN_SECONDS``.
    """

    def __init__(
        self,
        issuer: Issuer,
        algorithms: Sequence[str],
        *,
        max_age_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read nothing yet; the clock returns seconds."""
        self.issuer = issuer
        self._algorithms = tuple(algorithms)
        self._max_age_seconds = max_age_seconds
        self._clock = clock
        self._keys: dict[Key, PublicKey] = {}
        self._document: IssuerDocument | None = None
        self._read_at = -math.inf
        """When the reading began whose keys are kept."""
        self._tried_at = -math.inf
        self._failure: Unavailable | None = None
        """Why the last reading failed; None where it did not."""
        self._reading: asyncio.Task[None] | None = None

    async def find(self, kid: str | None, algorithm: str) -> PublicKey:
        """Return a key of the issuer; without a ``kid``, the only one that it has for the algorithm.

        Raises:
            Unauthenticated: the issuer has no such key for this algorithm.
            IssuerUnavailable: the issuer does not answer, so that this is not known.
        """
        await self._refresh(lambda: self._known(kid, algorithm) is not None)
        key = self._known(kid, algorithm)
        if key is None:
            raise refused("its kid is none of the issuer's keys, or it names none and there are several")
        return key

    async def document(self) -> IssuerDocument:
        """Return the issuer's document; raises ``IssuerUnavailable`` where it is not known."""
        await self._refresh(lambda: self._document is not None)
        assert self._document is not None  # noqa: S101 - else the refresh has raised
        return self._document

    async def check(self) -> int:
        """Read the keys now, whenever they were read last, and return how many there are of the set algorithms.

        Raises:
            Unavailable: the issuer does not answer, or its answer is not understood.
        """
        return len({kid for kid, _ in _public_keys((await self.issuer.read()).keys, self._algorithms)})

    async def close(self) -> None:
        """Stop a reading, and close the issuer's connections."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        await self.issuer.close()

    def _known(self, kid: str | None, algorithm: str) -> PublicKey | None:
        if kid is not None:
            return self._keys.get((kid, algorithm))
        fitting = [key for (_, own), key in self._keys.items() if own == algorithm]
        return fitting[0] if len(fitting) == 1 else None

    async def _refresh(self, has: Callable[[], bool]) -> None:
        """Read the keys, if what is wanted is not known or is too old; raises ``IssuerUnavailable``."""
        now = self._clock()
        if has() and now - self._read_at < self._max_age_seconds:
            if now - self._read_at >= FRESH_SECONDS:
                self._begin(now)
            return
        failing = self._failure
        reading = self._begin(now)
        if reading is not None and failing is None:  # while the issuer fails, no request waits for it
            await asyncio.shield(reading)
        if self._failure is not None:
            raise IssuerUnavailable("The issuer of the token does not answer.") from self._failure

    def _begin(self, now: float) -> asyncio.Task[None] | None:
        """Begin a reading, and return the reading that goes on; None where the last one has just ended."""
        if self._reading is not None and not self._reading.done():
            return self._reading
        if now - self._tried_at < AGAIN_SECONDS:
            return None
        self._tried_at = now
        self._reading = asyncio.create_task(self._read(now), name="issuer")
        return self._reading

    async def _read(self, began: float) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                document = await self.issuer.read()
        except TimeoutError:
            self._failure = IssuerUnavailable("The issuer did not answer in time.")
        except Unavailable as error:
            self._failure = error
        else:
            self._failure = None
            self._keys = _public_keys(document.keys, self._algorithms)
            self._document, self._read_at = document, began
            return
        structlog.get_logger().warning(
            "issuer_unreachable", issuer=self.issuer.url, code=self._failure.code, reason=self._failure.detail
        )


def _public_keys(jwks: Sequence[Jwk], algorithms: Sequence[str]) -> dict[Key, PublicKey]:
    """Return the keys that verify signatures by these algorithms; of two with one id, the first."""
    keys: dict[Key, PublicKey] = {}
    for number, jwk in enumerate(jwks):
        kid = jwk.get("kid", number)
        if isinstance(kid, str) is not ("kid" in jwk) or jwk.get("use", "sig") != "sig":
            continue
        for algorithm in algorithms:
            if jwk.get("alg", algorithm) == algorithm and (key := _public_key(jwk, algorithm)) is not None:
                keys.setdefault((kid, algorithm), key)
    return keys


def _public_key(jwk: Jwk, algorithm: str) -> PublicKey | None:
    """Return the public key; None where it is of another type than the algorithm's, or weak, or none."""
    kty, curve, members = _FORMS[algorithm]
    if jwk.get("kty") != kty or jwk.get("crv") != curve:
        return None
    public = {"kty": kty, **{name: jwk.get(name) for name in members}}
    try:
        key = jwt.PyJWK(public, algorithm).key
    except (jwt.PyJWTError, TypeError, ValueError, AttributeError):
        return None
    return None if isinstance(key, RSAPublicKey) and key.key_size not in _RSA_BITS else key
