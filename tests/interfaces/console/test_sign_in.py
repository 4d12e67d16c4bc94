"""Signing in to the console and out of it: sessions, their ends, and one-time links."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import jwt
import pytest

from app.domain.errors import MemoryGatewayError, QuotaExceeded, Unavailable
from app.domain.sign_ins import MAX_ENDED_OF_CREDENTIAL, new_id
from app.interfaces.console.sign_in import sign_in_link
from app.interfaces.request_state import SESSION_COOKIE
from app.services.access.credentials import Principal
from app.services.tenant.sign_ins import SignIns
from tests.interfaces.console.browser import URL, Browser, Page, browsing, stranger
from tests.support.service import SECRETS, Service, serving
from tests.support.sharded import placed, sharded

MINUTE = 60.0


def link_of(service: Service, **credential: Any) -> str:
    """A one-time link for a new credential of a tenant."""
    now = service.runtime.backends.clock()
    return sign_in_link(service.runtime.credentials, principal_of(service, **credential), now)


def principal_of(service: Service, **credential: Any) -> Principal:
    token = service.credential(**credential)["Authorization"].removeprefix("Bearer ")
    return service.runtime.credentials.verify(token, service.runtime.backends.clock())


async def with_cookie(service: Service, cookie: str, path: str = "/console/search") -> httpx.Response:
    """The answer to a request with a cookie from elsewhere."""
    async with stranger(service) as other:
        return await other.client.get(path, headers={"Cookie": f"{SESSION_COOKIE}={cookie}"})


async def test_a_credential_signs_in_and_its_agent_is_shown(shared_service: Service) -> None:
    async with stranger(shared_service) as browser:
        page = await browser.sign_in(shared_service.credential(agent="bot"))
        assert (page.status, page.path) == (200, "/console/overview")
        assert "tenant acme agent bot" in page.text


async def test_a_cookie_of_a_session_is_for_this_host_over_https_and_not_for_scripts_or_other_sites(
    shared_service: Service,
) -> None:
    async with stranger(shared_service) as browser:
        form = (await browser.open("/console/sign-in")).form("/sign-in")
        token = shared_service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
        answer = await browser.client.post(
            form.action, data={"credential": token, "next": ""}, headers={"Sec-Fetch-Site": "same-origin"}
        )
    (cookie,) = answer.headers.get_list("set-cookie")
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert cookie.startswith("__Host-")
    assert attributes == {"httponly", "secure", "samesite=strict", "path=/"}


@pytest.mark.parametrize("credential", ["", "nonsense", "a.b.c", "Bearer", "x" * 5000])
async def test_what_is_no_credential_signs_nobody_in(shared_service: Service, credential: str) -> None:
    async with stranger(shared_service) as browser:
        page = await browser.open("/console/sign-in")
        page = await browser.send(page.form("/sign-in"), credential=credential)
        assert (page.status, browser.cookie) == (401, None)
        assert "does not hold" in page.text
        assert credential[:10] not in page.text.replace("Bearer", "") or not credential


async def test_a_page_without_a_session_leads_to_the_form_and_from_there_to_the_page(shared_service: Service) -> None:
    async with stranger(shared_service) as browser:
        page = await browser.open("/console/memories?type=fact")
        assert page.path == "/console/sign-in"
        token = shared_service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
        page = await browser.send(page.form("/sign-in"), credential=token)
        assert (page.path, page.query) == ("/console/memories", {"type": "fact"})


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\r\nSet-Cookie: a=b", "/\u00e9"]
)
async def test_signing_in_leads_to_no_other_site(shared_service: Service, target: str) -> None:
    async with stranger(shared_service) as browser:
        token = shared_service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
        answer = await browser.client.post(
            "/console/sign-in",
            data={"credential": token, "next": target},
            headers={"Sec-Fetch-Site": "same-origin"},
        )
    assert answer.headers["location"].startswith("/console")
    assert answer.headers.get_list("set-cookie")[0].startswith(SESSION_COOKIE)
    assert len(answer.headers.get_list("set-cookie")) == 1


async def test_each_sign_in_begins_another_session_whatever_cookie_the_browser_brought(shared_service: Service) -> None:
    async with browsing(shared_service, agent="bot") as victim, stranger(shared_service) as browser:
        planted = victim.cookie or ""
        browser.client.cookies.set(SESSION_COOKIE, planted)
        token = shared_service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
        answer = await browser.client.post(
            "/console/sign-in",
            data={"credential": token, "next": ""},
            headers={"Sec-Fetch-Site": "same-origin"},
        )
        given = answer.cookies[SESSION_COOKIE]
    ids = [jwt.decode(each, options={"verify_signature": False})["jti"] for each in (planted, given)]
    assert ids[0] != ids[1]


async def test_a_session_ends_after_half_an_hour_without_a_request_and_not_before(service: Service) -> None:
    async with browsing(service, agent="bot") as browser:
        for _ in range(3):
            service.later(29 * MINUTE)
            assert (await browser.open("/console/search")).path == "/console/search"
        service.later(31 * MINUTE)
        page = await browser.open("/console/search")
        assert page.path == "/console/sign-in"
        assert "Your session has ended" in page.text


async def test_a_session_ends_after_twelve_hours_however_often_it_is_used(service: Service) -> None:
    async with browsing(service, agent="bot") as browser:
        for _ in range(28):
            service.later(25 * MINUTE)
            assert (await browser.open("/console/search")).path == "/console/search"
        service.later(25 * MINUTE)
        assert (await browser.open("/console/search")).path == "/console/sign-in"


async def test_a_session_holds_no_longer_than_its_credential(service: Service) -> None:
    now = service.runtime.backends.clock()
    token = service.runtime.credentials.issue("acme", now=now, agent_id="bot", seconds=600)
    async with stranger(service) as browser:
        await browser.sign_in({"Authorization": f"Bearer {token}"})
        assert (await browser.open("/console/search")).path == "/console/search"
        service.later(11 * MINUTE)
        assert (await browser.open("/console/search")).path == "/console/sign-in"


async def test_sessions_hold_for_as_long_as_the_settings_say(tmp_path: Path) -> None:
    async with serving(tmp_path, console_idle_minutes=5) as service, browsing(service, agent="bot") as browser:
        service.later(6 * MINUTE)
        assert (await browser.open("/console/search")).path == "/console/sign-in"


async def test_the_settings_switch_the_console_off(tmp_path: Path) -> None:
    async with serving(tmp_path, console=False) as service, stranger(service) as browser:
        assert (await browser.client.get("/console/sign-in")).status_code == 404


async def test_signing_out_ends_the_session_in_every_browser_that_has_its_cookie(any_service: Service) -> None:
    async with browsing(any_service, agent="bot") as browser:
        stolen = browser.cookie or ""
        assert (await with_cookie(any_service, stolen)).status_code == 200
        page = await browser.open("/console/search")
        page = await browser.send(page.form("/sign-out"))
        assert (page.path, browser.cookie) == ("/console/sign-in", None)
        assert "You are signed out" in page.text
        assert (await with_cookie(any_service, stolen)).status_code == 303


@pytest.mark.parametrize("failure", [QuotaExceeded("Too many.", reached="x"), Unavailable("No answer.")])
async def test_a_browser_forgets_a_session_that_could_not_be_ended_and_is_told_so(
    service: Service, monkeypatch: pytest.MonkeyPatch, failure: MemoryGatewayError
) -> None:
    async def refuse(*_: object) -> bool:
        raise failure

    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/search")
        monkeypatch.setattr(SignIns, "end", refuse)
        page = await browser.send(page.form("/sign-out"))
        assert (page.status, browser.cookie) == (failure.status, None)
        assert "has not ended" in page.text


async def test_signing_out_of_one_session_leaves_the_others(service: Service) -> None:
    async with browsing(service, agent="bot") as one, browsing(service, agent="bot") as other:
        await one.send((await one.open("/console/search")).form("/sign-out"))
        assert (await other.open("/console/search")).path == "/console/search"


async def test_a_revoked_credential_ends_the_sessions_that_it_began(service: Service) -> None:
    credential = service.credential(agent="bot")
    token = credential["Authorization"].removeprefix("Bearer ")
    id_ = jwt.decode(token, options={"verify_signature": False})["jti"]
    async with stranger(service) as browser:
        await browser.sign_in(credential)
        await service.client.delete(f"/credentials/{id_}/memories", headers=service.credential(admin=True))
        assert (await browser.open("/console/search")).path == "/console/sign-in"


async def test_a_session_s_cookie_is_no_credential_and_a_credential_is_no_session(shared_service: Service) -> None:
    credential = shared_service.credential(agent="bot")
    async with browsing(shared_service, agent="bot") as browser:
        answer = await shared_service.client.get(
            "/memories?agent_id=bot", headers={"Authorization": f"Bearer {browser.cookie}"}
        )
        assert answer.status_code == 401
    token = credential["Authorization"].removeprefix("Bearer ")
    assert (await with_cookie(shared_service, token)).status_code == 303


async def test_a_link_is_no_session_and_a_session_no_link(shared_service: Service) -> None:
    link = link_of(shared_service, agent="bot")
    assert (await with_cookie(shared_service, link.partition("token=")[2])).status_code == 303
    async with browsing(shared_service, agent="bot") as browser:
        page = await browser.open(f"/console/sign-in/link?token={quote(browser.cookie or '')}")
        assert page.status == 401


@pytest.mark.parametrize("change", ["", "x", "{}.", ".{}", "alg"])
async def test_a_forged_cookie_opens_nothing(shared_service: Service, change: str) -> None:
    async with browsing(shared_service, agent="bot") as browser:
        good = browser.cookie or ""
    claims = jwt.decode(good, options={"verify_signature": False})
    header = {"typ": jwt.get_unverified_header(good)["typ"]}
    forged = {
        "": "",
        "x": good[:-3] + ("abc" if good[-3:] != "abc" else "cba"),
        "{}.": f"{{}}.{good}",
        ".{}": jwt.encode(claims, SECRETS["test"], "HS256", headers=header),
        "alg": jwt.encode(claims, None, "none", headers=header),  # type: ignore[arg-type]
    }[change]
    assert (await with_cookie(shared_service, forged)).status_code == 303


async def test_a_link_signs_in_once(any_service: Service) -> None:
    link = link_of(any_service, admin=True)
    async with stranger(any_service) as one, stranger(any_service) as other:
        page = await one.open(link)
        assert (page.status, one.cookie) == (200, None)
        assert "tenant acme" in page.text
        shown_twice = await other.open(link)  # as a preview of a chat does, before the person
        page = await one.send(page.form("/sign-in/link"))
        assert (page.status, bool(one.cookie)) == (200, True)
        page = await other.send(shown_twice.form("/sign-in/link"))
        assert (page.status, other.cookie) == (401, None)
        assert "once" in page.text


async def test_of_two_who_use_a_link_at_once_one_is_signed_in(any_service: Service) -> None:
    link = link_of(any_service, admin=True)
    async with stranger(any_service) as one, stranger(any_service) as other:

        async def use(browser: Browser) -> Page:
            return await browser.send((await browser.open(link)).form("/sign-in/link"))

        pages = await asyncio.gather(use(one), use(other))
    assert sorted(page.status for page in pages) == [200, 401]


async def test_a_link_that_was_used_in_one_process_is_used_up_in_another(tmp_path: Path) -> None:
    async with serving(tmp_path) as first, serving(tmp_path) as second:
        link = link_of(first, admin=True)
        async with stranger(first) as one, stranger(second) as other:
            assert (await one.send((await one.open(link)).form("/sign-in/link"))).status == 200
            page = await other.open(link)
            assert (await other.send(page.form("/sign-in/link"))).status == 401


async def test_a_session_of_a_tenant_in_another_shard_ends_there(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", "east")
        async with browsing(service, agent="bot") as browser:
            stolen = browser.cookie or ""
            await browser.send((await browser.open("/console/search")).form("/sign-out"))
            assert (await with_cookie(service, stolen)).status_code == 303
        link = link_of(service, agent="bot")
        async with stranger(service) as one:
            page = await one.open(link)
            assert (await one.send(page.form("/sign-in/link"))).status == 200
            assert (await one.send(page.form("/sign-in/link"))).status == 401


async def test_a_link_holds_for_five_minutes(service: Service) -> None:
    link = link_of(service, admin=True)
    async with stranger(service) as browser:
        page = await browser.open(link)
        service.later(4.9 * MINUTE)
        assert (await browser.open(link)).status == 200
        service.later(0.2 * MINUTE)
        assert (await browser.open(link)).status == 401
        assert (await browser.send(page.form("/sign-in/link"))).status == 401


async def test_what_ended_a_day_ago_is_kept_no_longer(any_service: Service) -> None:
    async def kept() -> int:
        answer = await any_service.runtime.read_revocations(0)
        return sum(each.credential_id.startswith("console:") for each in answer)

    for _ in range(3):
        async with browsing(any_service, agent="bot") as browser:
            await browser.send((await browser.open("/console/search")).form("/sign-out"))
    assert await kept() == 3
    any_service.later(25 * 60 * MINUTE)
    async with browsing(any_service, agent="bot") as browser:
        await browser.send((await browser.open("/console/search")).form("/sign-out"))
    assert await kept() == 1


async def test_a_request_with_a_session_need_not_wait_for_a_turn_of_requests_without_one(
    shared_service: Service,
) -> None:
    async with browsing(shared_service, agent="bot") as browser:
        answer = await browser.client.get(f"{URL}/console/search")
        assert answer.status_code == 200


async def test_a_request_of_the_console_counts_against_the_rates_of_its_credential_and_of_recalls(
    tmp_path: Path,
) -> None:
    rates: dict[str, Any] = {"credential_requests_per_minute": 6, "agent_recalls_per_minute": 1}
    async with serving(tmp_path, **rates) as service, browsing(service, agent="bot") as browser:
        statuses = [(await browser.open("/console/search?q=tea")).status for _ in range(2)]
        assert statuses == [200, 429]  # of recalls
        statuses = [(await browser.open("/console/memories")).status for _ in range(2)]
        assert statuses == [200, 429]  # of requests: three were made by the sign-in and the pages that it leads to
        assert int((await browser.open("/console/memories")).answer.headers["retry-after"]) > 0


@pytest.mark.thorough
async def test_one_credential_cannot_keep_others_from_signing_out_by_signing_out_often(service: Service) -> None:
    agent = principal_of(service, agent="bot")
    now = service.runtime.backends.clock()
    ended = service.runtime.services("acme").sign_ins
    for _ in range(MAX_ENDED_OF_CREDENTIAL):
        assert await ended.end(new_id(agent.credential_id, now))
    with pytest.raises(QuotaExceeded, match="of the credential have ended within a day"):
        await ended.end(new_id(agent.credential_id, now))
    async with browsing(service, admin=True) as browser:
        page = await browser.send((await browser.open("/console/acts")).form("/sign-out"))
        assert "You are signed out" in page.text
