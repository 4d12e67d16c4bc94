"""Signing in at the company's issuer, and behind Cloudflare Access."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from app.domain.errors import UpstreamTimeout
from app.interfaces.console.issuer import COOKIE
from app.runtime.backends import Backends
from app.services.access.claims import ClaimMapping
from app.services.access.issuer_sign_in import IssuerSignIn
from app.services.access.issuers import ASSERTION_HEADER, Issuers
from tests.interfaces.console.browser import URL, Browser, Page, browsing, stranger
from tests.support.issuers import SCOPES, MemoryIssuer, claims_of, token_of, tokens_of
from tests.support.service import Service, serving

CLIENT = "console"


@dataclass(frozen=True, slots=True)
class Company:
    """A service that has an issuer, and stands behind Cloudflare Access."""

    service: Service
    issuer: MemoryIssuer

    async def begun(self, browser: Browser, path: str = "/console/sign-in/issuer") -> dict[str, str]:
        """What the issuer is asked when a person follows the link."""
        answer = await browser.client.get(path)
        assert answer.status_code == 303, answer.text
        query = parse_qs(urlsplit(answer.headers["location"]).query)
        return {name: values[0] for name, values in query.items()}

    def gives(self, asked: dict[str, str], scope: str = "memory:read memory:write", **claims: Any) -> None:
        """Have the issuer redeem the code ``code`` for an ID token."""
        usual = {"aud": CLIENT, "nonce": asked["nonce"], "scope": None, "agent": "bot"}
        given = claims_of(self.service.runtime.backends.clock(), **(usual | claims))
        self.issuer.codes["code"] = {"id_token": token_of(given, typ="JWT"), "scope": scope}

    async def back(self, browser: Browser, asked: dict[str, str], **answer: str) -> Page:
        """The page that a person comes back to."""
        query = {"state": asked["state"], "code": "code"} | answer
        return Page(await browser.client.get("/console/callback", params=query))


@pytest.fixture
async def company(tmp_path: Path) -> AsyncIterator[Company]:
    issuer = MemoryIssuer()
    mapping = ClaimMapping(tenant=("tenant",), agent=("agent",), scope=("scope",), scopes=SCOPES)
    tokens = tokens_of(issuer, mapping)
    sign_in = IssuerSignIn(
        tokens, client_id=CLIENT, client_secret="s", public_url=URL, scopes="memory:read memory:write"
    )
    access = tokens_of(issuer, mapping, kind="access")

    def with_issuers(backends: Backends) -> Backends:
        return replace(backends, issuers=Issuers(tokens, access, sign_in))

    async with serving(tmp_path, change=with_issuers) as service:
        yield Company(service, issuer)


async def test_a_person_signs_in_at_the_issuer_and_is_led_to_the_page_that_was_asked_for(company: Company) -> None:
    async with stranger(company.service) as browser:
        page = await browser.open("/console/memories?type=fact")
        link = page.labelled("Sign in with your company's account")
        asked = await company.begun(browser, link)
        assert (asked["redirect_uri"], asked["code_challenge_method"]) == (f"{URL}/console/callback", "S256")
        company.gives(asked)
        page = await company.back(browser, asked)
        assert page.status == 200
        page = await browser.open(page.labelled("Open the console"))
        assert (page.path, page.query) == ("/console/memories", {"type": "fact"})
        assert "agent bot" in page.text


async def test_the_cookie_of_a_sign_in_that_has_begun_comes_back_from_another_site_and_is_used_once(
    company: Company,
) -> None:
    async with stranger(company.service) as browser:
        answer = await browser.client.get("/console/sign-in/issuer")
        attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
        assert attributes == {"httponly", "secure", "samesite=lax", "path=/", "max-age=600"}
        asked = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
        company.gives(asked)
        assert (await company.back(browser, asked)).status == 200
        assert browser.client.cookies.get(COOKIE) is None
        company.gives(asked)
        assert (await company.back(browser, asked)).status == 401


async def test_an_answer_that_another_browser_has_begun_signs_nobody_in(company: Company) -> None:
    async with stranger(company.service) as attacker, stranger(company.service) as victim:
        asked = await company.begun(attacker)
        company.gives(asked)
        page = await company.back(victim, asked)
        assert (page.status, victim.cookie) == (401, None)
        await company.begun(victim)
        page = await company.back(victim, asked)
        assert (page.status, victim.cookie) == (401, None)


@pytest.mark.parametrize(
    "answer", [{"state": ""}, {"state": "x"}, {"code": ""}, {"code": "x"}, {"code": "x" * 10_000}, {"iss": "https://x"}]
)
async def test_an_answer_of_another_form_signs_nobody_in(company: Company, answer: dict[str, str]) -> None:
    async with stranger(company.service) as browser:
        asked = await company.begun(browser)
        company.gives(asked)
        page = await company.back(browser, asked, **answer)
        assert (page.status, browser.cookie) == (401, None)
        assert "did not sign you in" in page.text


@pytest.mark.parametrize("claims", [{"nonce": "x"}, {"aud": "another client"}, {"exp": 1}, {"iss": "https://x"}])
async def test_an_id_token_that_does_not_hold_signs_nobody_in(company: Company, claims: dict[str, Any]) -> None:
    async with stranger(company.service) as browser:
        asked = await company.begun(browser)
        company.gives(asked, **claims)
        page = await company.back(browser, asked)
        assert (page.status, browser.cookie) == (401, None)


@pytest.mark.parametrize("given", [{"tenant": None}, {"scope": "openid"}])
async def test_a_person_without_a_tenant_or_a_scope_is_told_so(company: Company, given: dict[str, Any]) -> None:
    async with stranger(company.service) as browser:
        asked = await company.begun(browser)
        company.gives(asked, **given)
        page = await company.back(browser, asked)
        assert (page.status, browser.cookie) == (401, None)
        assert "did not sign you in" not in page.text


async def test_a_sign_in_that_takes_too_long_is_begun_again(company: Company) -> None:
    async with stranger(company.service) as browser:
        asked = await company.begun(browser)
        company.service.later(601)
        company.gives(asked)
        assert (await company.back(browser, asked)).status == 401


async def test_an_issuer_that_does_not_answer_is_a_page_of_its_own(company: Company) -> None:
    async with stranger(company.service) as browser:
        asked = await company.begun(browser)
        company.issuer.failure = UpstreamTimeout("slow")
        assert (await company.back(browser, asked)).status == 503


async def test_the_state_that_was_signed_for_something_else_is_not_taken(company: Company) -> None:
    async with browsing(company.service, agent="bot") as browser:
        asked = await company.begun(browser)
        session = browser.cookie or ""
        browser.client.cookies.clear()
        browser.client.cookies.set(COOKIE, session)
        company.gives(asked)
        assert (await company.back(browser, asked)).status == 401


async def test_a_person_behind_cloudflare_access_signs_in_with_a_button(company: Company) -> None:
    now = company.service.runtime.backends.clock()
    assertion = {ASSERTION_HEADER: token_of(claims_of(now, agent="bot"), typ="JWT")}
    async with stranger(company.service) as browser:
        assert "Cloudflare Access" not in (await browser.open("/console/sign-in")).text
        form = Page(await browser.client.get("/console/sign-in", headers=assertion)).form("/sign-in/access")
        page = await browser.send(form, {"Sec-Fetch-Site": "same-origin", **assertion})
        assert (page.path, page.status) == ("/console/overview", 200)
    async with stranger(company.service) as browser:
        page = await browser.send(form, {"Sec-Fetch-Site": "cross-site", **assertion})
        assert (page.status, browser.cookie) == (403, None)
        page = await browser.send(form)
        assert (page.status, browser.cookie) == (401, None)


async def test_without_an_issuer_there_is_no_such_page(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, stranger(service) as browser:
        assert "company" not in (await browser.open("/console/sign-in")).text
        for path in ("/console/sign-in/issuer", "/console/callback?code=x&state=y"):
            answer: httpx.Response = await browser.client.get(path)
            assert answer.status_code == 404
