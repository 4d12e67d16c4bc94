"""Forms that another site has a browser send, and pages that another site would frame."""

import pytest

from tests.interfaces.console.browser import Browser, Form, browsing, stranger
from tests.support.service import Service


@pytest.fixture(scope="module")
async def taught(shared_service: Service) -> Service:
    """The service of all tests, with a memory that each of them leaves as it is."""
    await shared_service.store("Ann drinks green tea.")
    return shared_service


async def forget_form(browser: Browser) -> Form:
    page = await browser.open("/console/memories")
    page = await browser.open(page.link("/memories/0"))
    return (await browser.open(page.labelled("Forget it"))).form("/forget")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "https://evil.example"},
        {"Origin": "https://service.evil.example"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://service"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
async def test_a_form_that_no_page_of_the_console_has_sent_does_nothing(
    taught: Service, headers: dict[str, str]
) -> None:
    async with browsing(taught, agent="bot") as browser:
        page = await browser.send(await forget_form(browser), headers)
        assert page.status == 403
    assert await taught.contents("green tea")


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-origin"}, {"Origin": "https://service"}])
async def test_a_form_of_a_page_is_taken_by_either_header(service: Service, headers: dict[str, str]) -> None:
    await service.store("Ann drinks green tea.")
    async with browsing(service, agent="bot") as browser:
        page = await browser.send(await forget_form(browser), headers)
        assert page.status == 200
    assert not await service.contents("green tea")


@pytest.mark.parametrize("key", ["", "x", "0" * 64, "\u00e9"])
async def test_a_form_without_the_key_of_its_session_does_nothing(taught: Service, key: str) -> None:
    async with browsing(taught, agent="bot") as browser:
        page = await browser.send(await forget_form(browser), form_key=key)
        assert page.status == 403
    assert await taught.contents("green tea")


async def test_the_key_of_another_session_is_not_taken(taught: Service) -> None:
    async with browsing(taught, agent="bot") as browser, browsing(taught, agent="bot") as other:
        key = (await forget_form(other)).fields["form_key"]
        assert (await browser.send(await forget_form(browser), form_key=key)).status == 403
        page = await browser.open("/console/search")
        assert (await browser.send(page.form("/sign-out"), form_key=key)).status == 403
        assert (await browser.open("/console/search")).path == "/console/search"


async def test_another_site_signs_nobody_in(shared_service: Service) -> None:
    async with stranger(shared_service) as browser:
        page = await browser.open("/console/sign-in")
        token = shared_service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
        page = await browser.send(page.form("/sign-in"), {"Sec-Fetch-Site": "cross-site"}, credential=token)
        assert (page.status, browser.cookie) == (403, None)


async def test_a_form_is_taken_as_a_form_alone(taught: Service) -> None:
    async with browsing(taught, agent="bot") as browser:
        form = await forget_form(browser)
        answer = await browser.client.post(form.action, json=form.fields, headers={"Sec-Fetch-Site": "same-origin"})
        assert answer.status_code == 415
        assert (await browser.client.get(form.action.replace("/forget", "/remember"))).status_code == 405


@pytest.mark.parametrize("path", ["", "/search", "/sign-in", "/console.css", "/nothing", "/memories/x"])
async def test_no_page_may_be_framed_or_load_anything_from_elsewhere(shared_service: Service, path: str) -> None:
    async with browsing(shared_service, agent="bot") as browser:
        answer = await browser.client.get(f"/console{path}")
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "style-src": "'self'",
        "img-src": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == (
        "no-store" if path != "/console.css" else "public, max-age=31536000, immutable"
    )
