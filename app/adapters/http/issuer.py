"""The ``Issuer`` port over HTTP: OpenID Connect discovery, a JSON Web Key Set, and the token endpoint.

https://openid.net/specs/openid-connect-discovery-1_0.html, RFC 7517, RFC 6749
"""

from base64 import b64encode
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx

from app.adapters.upstream import Call, Upstream
from app.domain.errors import UpstreamRejected
from app.domain.urls import is_secure
from app.observability.metrics import Metrics
from app.ports.issuer import (
    MAX_DOCUMENT_BYTES,
    MAX_KEYS,
    READ_SECONDS,
    CodeGrant,
    CodeRefused,
    IssuerDocument,
    Jwk,
)

_DISCOVERY = "/.well-known/openid-configuration"
_READ, _REDEEM = "issuer.read", "issuer.redeem"
_REFUSALS = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_BASIC = "client_secret_basic"
_MAX_ORIGINS = 8
"""Origins of one issuer's documents over the life of the process."""


class HttpIssuer:
    """Reads an issuer's documents, each as a whole and within its bounds."""

    def __init__(
        self, url: str, metrics: Metrics, *, keys_url: str | None = None, seconds: float = READ_SECONDS
    ) -> None:
        """Open no connection yet; with ``keys_url`` the issuer publishes keys there, and no document beside them."""
        self.url = url
        self._keys_url = keys_url
        self._metrics = metrics
        self._seconds = seconds
        self._upstreams: dict[str, Upstream] = {}
        """The connections by origin: keys may lie at another host than the issuer's."""

    async def read(self) -> IssuerDocument:
        """Read the issuer's document and its keys anew."""
        if self._keys_url is not None:
            return IssuerDocument(await self._keys(self._keys_url))
        document = await self._document(self.url.rstrip("/") + _DISCOVERY)
        if document.get("issuer") != self.url:
            raise UpstreamRejected("The issuer's document names another issuer than OIDC_ISSUER.")
        methods = document.get("token_endpoint_auth_methods_supported", [_BASIC])
        return IssuerDocument(
            await self._keys(_endpoint(document, "jwks_uri")),
            _endpoint(document, "authorization_endpoint") if "authorization_endpoint" in document else None,
            _endpoint(document, "token_endpoint") if "token_endpoint" in document else None,
            takes_basic=isinstance(methods, list) and _BASIC in methods,
        )

    async def redeem(self, document: IssuerDocument, grant: CodeGrant) -> Mapping[str, Any]:
        """Redeem a code once, and return the token endpoint's answer."""
        if document.token_endpoint is None:
            raise UpstreamRejected("The issuer's document names no token_endpoint.")
        form = {
            "grant_type": "authorization_code",
            "code": grant.code,
            "redirect_uri": grant.redirect_uri,
            "code_verifier": grant.verifier,
        }
        headers = {}
        if grant.client_secret is not None and document.takes_basic:
            pair = f"{quote_plus(grant.client_id)}:{quote_plus(grant.client_secret)}"  # RFC 6749, 2.3.1
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            form["client_id"] = grant.client_id
            if grant.client_secret is not None:
                form["client_secret"] = grant.client_secret
        upstream, path = self._upstream(document.token_endpoint)
        call = Call(
            _REDEEM,
            "POST",
            path,
            urlencode(form).encode(),
            content_type="application/x-www-form-urlencoded",
            headers=headers,
            max_bytes=MAX_DOCUMENT_BYTES,
        )
        with upstream.measured(call):
            response = await upstream.send(call)
            if response.status_code in _REFUSALS:
                raise CodeRefused
            return _object(upstream, response)

    async def close(self) -> None:
        """Close the connections."""
        for upstream in self._upstreams.values():
            await upstream.close()

    async def _keys(self, url: str) -> list[Jwk]:
        keys = (await self._document(url)).get("keys")
        if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
            raise UpstreamRejected("The issuer's keys are no set of keys.")
        if len(keys) > MAX_KEYS:
            raise UpstreamRejected(f"The issuer has more than {MAX_KEYS} keys.")
        return keys

    async def _document(self, url: str) -> Mapping[str, Any]:
        upstream, path = self._upstream(url)
        call = Call(_READ, "GET", path, max_bytes=MAX_DOCUMENT_BYTES)
        with upstream.measured(call):
            return _object(upstream, await upstream.send(call))

    def _upstream(self, url: str) -> tuple[Upstream, str]:
        """Return the connections to a URL's origin, and the rest of the URL."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._upstreams:
            if len(self._upstreams) == _MAX_ORIGINS:
                raise UpstreamRejected("The issuer's documents name more and more hosts.")
            self._upstreams[origin] = Upstream(
                "The issuer",
                base_url=origin,
                headers={"Accept": "application/json", "Accept-Encoding": "identity"},
                seconds=self._seconds,
                metrics=self._metrics,
            )
        return self._upstreams[origin], parts._replace(scheme="", netloc="", fragment="").geturl()


def _object(upstream: Upstream, response: httpx.Response) -> Mapping[str, Any]:
    if response.status_code != HTTPStatus.OK:  # a redirect too: what it leads to nobody has set
        raise UpstreamRejected(f"The issuer answered {response.status_code}.")
    document = upstream.read_json(response)
    if not isinstance(document, dict):
        raise UpstreamRejected("The issuer answered no object.")
    return document


def _endpoint(document: Mapping[str, Any], name: str) -> str:
    url = document.get(name)
    if not isinstance(url, str) or not is_secure(url):
        raise UpstreamRejected(f"The issuer's {name} is no https URL.")
    try:
        httpx.URL(url)
    except httpx.InvalidURL as error:
        raise UpstreamRejected(f"The issuer's {name} is no URL.") from error
    return url
