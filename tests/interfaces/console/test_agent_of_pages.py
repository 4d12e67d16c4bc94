"""Which agent a page is about: the one that was picked last, without asking again."""

from app.interfaces.console.last_agent import COOKIE
from tests.interfaces.console.browser import browsing
from tests.support.service import Service


async def test_the_agent_that_was_picked_last_is_kept_where_no_address_names_it(service: Service) -> None:
    await service.store("Ann drinks tea.")
    await service.store("Ann drinks milk.", agent_id="other")
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/search")
        assert page.path == "/console/agents"
        page = await browser.open(page.labelled("bot"))
        assert (page.path, page.query["agent"]) == ("/console/search", "bot")
        assert "milk" not in (await browser.open("/console/memories")).text
        assert "tea" in (await browser.open("/console/memories")).text
        await browser.open("/console/memories?agent=other")
        assert "milk" in (await browser.open("/console/memories")).text


async def test_the_only_agent_of_a_tenant_is_picked_by_itself(service: Service) -> None:
    await service.store("Ann drinks tea.")
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/search")
        assert (page.path, "bot" in page.text) == ("/console/search", True)
        assert (await browser.open("/console/agents")).path == "/console/agents"


async def test_the_agent_is_remembered_for_its_tenant_alone_and_forgotten_at_the_sign_out(service: Service) -> None:
    await service.store("Ann drinks tea.")
    await service.store("Ann drinks milk.", agent_id="other")
    async with browsing(service, admin=True) as browser:
        answer = await browser.client.get("/console/memories?agent=bot")
        cookie = answer.headers["set-cookie"].lower()
        assert all(part in cookie for part in ("httponly", "secure", "samesite=strict", "path=/"))
        page = await browser.open("/console/memories")
        await browser.send(page.form("/sign-out"))
        assert COOKIE not in browser.client.cookies
        browser.client.cookies.set(COOKIE, "acme|bot")
        await browser.sign_in(service.credential("rival", admin=True))
        assert (await browser.open("/console/memories")).path == "/console/agents"


async def test_an_agent_that_the_cookie_makes_up_is_no_agent_and_one_of_a_credential_stays(service: Service) -> None:
    await service.store("Ann drinks milk.", agent_id="other")
    async with browsing(service, agent="bot") as browser:
        browser.client.cookies.set(COOKIE, "acme|other")
        assert "milk" not in (await browser.open("/console/memories")).text
    async with browsing(service, admin=True) as browser:
        browser.client.cookies.set(COOKIE, "acme|<b>")
        page = await browser.open("/console/memories")
        assert (page.path, "milk" in page.text) == ("/console/memories", True)
