"""An OpenID Connect issuer that was not written here: oidc-provider-mock, with what authlib has for it.

It issues JSON Web Tokens for access (RFC 9068) and takes PKCE; it can rotate its keys, be slow, or go down.
"""

import json
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from joserfc.jwk import KeySet

with warnings.catch_warnings(record=True):  # of what the package itself uses
    import flask
    import oidc_provider_mock
    from authlib import jose
    from authlib.oauth2.rfc7636 import CodeChallenge
    from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
    from oidc_provider_mock import _storage
    from werkzeug.serving import make_server

DISCOVERY, KEYS = "/.well-known/openid-configuration", "/jwks"
SCOPES = ("openid", "profile", "email", "memory:read", "memory:write", "memory:admin")


@dataclass
class PackagedIssuer:
    """The issuer as a test sees it. ``down`` and ``slow`` are of its documents, ``audience`` of its access tokens."""

    url: str
    audience: str
    key: Any
    keys: list[Any] = field(default_factory=list)
    down: bool = False
    slow: float = 0.0
    padding: int = 0
    """Bytes that the set of keys has beside the keys."""
    claims: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The claims of people by their subject."""
    readings: int = 0
    authorizations: list[dict[str, str]] = field(default_factory=list)
    """The queries by which clients asked for a code."""

    def rotate(self, *, withdraw: bool = False) -> None:
        """Sign with another key from now on; the old one is still published, unless it is withdrawn."""
        self.key = new_key()
        self.keys = [self.key] if withdraw else [*self.keys, self.key]

    def sign_in(self, url: str, subject: str) -> str:
        """Do in the place of a browser what a person does there; return the URL that the browser is sent to."""
        with httpx.Client(trust_env=False, verify=False) as browser:
            assert browser.get(url).status_code == 200
            answer = browser.post(url, data={"sub": subject})
        assert answer.status_code == 302, answer.text[:200]
        return answer.headers["location"]

    def access_token(self, subject: str, scope: str = "openid memory:read memory:write") -> str:
        """Return an access token for a person, by the code flow of a client made by hand."""
        back = "http://127.0.0.1/back"
        query = {"response_type": "code", "client_id": "by-hand", "redirect_uri": back, "scope": scope, "state": "s"}
        location = self.sign_in(str(httpx.URL(f"{self.url}/oauth2/authorize", params=query)), subject)
        (code,) = parse_qs(urlsplit(location).query)["code"]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "client_id": "by-hand"}
        form["client_secret"] = "any"
        answer = httpx.post(f"{self.url}/oauth2/token", data=form, trust_env=False, verify=False)
        assert answer.status_code == 200, answer.text[:200]
        token: str = answer.json()["access_token"]
        return token


def new_key() -> Any:
    return jose.RSAKey.generate_key(is_private=True, options={"kid": f"key-{time.time_ns()}"})


class _AccessTokens(JWTBearerTokenGenerator):
    def __init__(self, issuer: PackagedIssuer) -> None:
        super().__init__(issuer.url)
        self._own = issuer

    def get_jwks(self) -> Any:
        return KeySet.import_key_set({"keys": [self._own.key.as_dict(is_private=True)]})

    def get_audiences(self, client: Any, user: Any, scope: Any) -> Any:
        del client, user, scope
        return self._own.audience

    def get_extra_claims(self, client: Any, grant_type: Any, user: Any, scope: Any) -> Any:
        del client, grant_type, scope
        return dict(self._own.claims.get(user.sub, {}))


class _Pkce(CodeChallenge):
    """PKCE, whose challenges are kept beside the package's codes, which have no place for them."""

    def __init__(self) -> None:
        super().__init__(required=False)
        self.challenges: dict[str, tuple[str, str]] = {}

    def get_authorization_code_challenge(self, authorization_code: Any) -> str | None:
        return self.challenges.get(authorization_code.code, (None, None))[0]

    def get_authorization_code_challenge_method(self, authorization_code: Any) -> str | None:
        return self.challenges.get(authorization_code.code, (None, None))[1]


class _Hooks:
    """What is done around each request of the package's application."""

    def __init__(self, issuer: PackagedIssuer) -> None:
        self._issuer = issuer
        self._pkce = _Pkce()
        self._registered = False

    def before(self) -> Any:
        issuer, storage = self._issuer, flask.g.oidc_provider_mock_storage
        storage.jwk = issuer.key
        for subject, claims in issuer.claims.items():
            storage.store_user(oidc_provider_mock.User(sub=subject, claims=dict(claims)))
        if not self._registered:
            self._registered = True
            self._register(flask.g._authlib_authorization_server, storage)  # noqa: SLF001 - it has no other name
        request = flask.request
        if (request.path, request.method) == ("/oauth2/authorize", "GET"):
            issuer.authorizations.append(dict(request.args))
        if request.path in {KEYS, DISCOVERY}:
            issuer.readings += request.path == KEYS
            time.sleep(issuer.slow)
            return ("", 503) if issuer.down else None
        return None

    def after(self, response: Any) -> Any:
        if response.status_code != 200:
            return response
        if flask.request.path == DISCOVERY:
            document = response.get_json()
            document["code_challenge_methods_supported"] = ["S256"]
            document["token_endpoint_auth_methods_supported"] = ["client_secret_basic", "client_secret_post"]
            response.set_data(json.dumps(document))
        if flask.request.path == KEYS:
            keys = [key.as_dict(is_private=False) | {"use": "sig"} for key in self._issuer.keys]
            response.set_data(json.dumps({"keys": keys, "padding": "x" * self._issuer.padding}))
        return response

    def _register(self, authorization: Any, storage: Any) -> None:
        authorization.register_token_generator("default", _AccessTokens(self._issuer))
        lists = [extensions for _, extensions in authorization._authorization_grants + authorization._token_grants]  # noqa: SLF001
        for extensions in {id(each): each for each in lists if each}.values():
            extensions.append(self._pkce)
        store = storage.store_authorization_code

        def keep(code: Any) -> None:
            query = flask.request.args
            if "code_challenge" in query:
                self._pkce.challenges[code.code] = query["code_challenge"], query["code_challenge_method"]
            store(code)

        storage.store_authorization_code = keep


@contextmanager
def packaged_issuer(audience: str) -> Iterator[PackagedIssuer]:
    """Run the issuer in a thread; its tokens are for this audience."""
    _storage.Client.SCOPES_SUPPORTED = SCOPES
    oidc_provider_mock.User.get_user_id = lambda user: user.sub  # authlib asks for it
    app = oidc_provider_mock.app()
    server = make_server("127.0.0.1", 0, app, threaded=True)
    key = new_key()
    issuer = PackagedIssuer(f"http://127.0.0.1:{server.server_port}", audience, key, [key])
    hooks = _Hooks(issuer)
    app.before_request(hooks.before)
    app.after_request(hooks.after)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
