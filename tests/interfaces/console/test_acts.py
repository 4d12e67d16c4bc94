"""The page of administrative acts."""

from tests.interfaces.console.browser import browsing
from tests.support.service import Service


async def test_an_act_is_shown_with_who_did_it_to_what_and_how_it_ended(service: Service) -> None:
    await service.client.delete("/agents/bot", headers=service.credential(admin=True))
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/acts")
        assert "Erased agent bot" in page.text
        assert "done HTTP" in page.text
        assert "/console/memories?agent=bot" in page.links
        assert "agent.erase" not in page.text
        page = await browser.send(page.form("/acts"), act="tenant.erase")
        assert "No act matches the filter" in page.text


async def test_attempts_that_were_refused_are_shown_with_their_number(service: Service) -> None:
    agents = service.credential(agent="bot")
    for _ in range(3):
        await service.client.delete("/agents/bot", headers=agents)
    await service.shards.write_acts()
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/acts?outcome=refused")
        assert "Erase an agent refused 3 times forbidden" in page.text


async def test_acts_are_shown_to_administrators_of_all_agents_of_their_own_tenant_alone(service: Service) -> None:
    await service.client.delete("/agents/bot", headers=service.credential(admin=True))
    async with browsing(service, admin=True, agent="bot") as browser:
        assert not any("/acts" in link for link in (await browser.open("/console/usage")).links)
        assert (await browser.open("/console/acts")).status == 403
    async with browsing(service, "rival", admin=True) as browser:
        assert "Erased agent" not in (await browser.open("/console/acts")).text


async def test_a_filter_that_has_not_its_form_is_named_beside_the_form(service: Service) -> None:
    async with browsing(service, admin=True) as browser:
        asked = {
            "after": ("After", "yesterday"),
            "credential": ("By credential", "x" * 10_000),
            "act": ("Act", "x" * 99),
        }
        for field, (label, text) in asked.items():
            page = await browser.open(f"/console/acts?{field}={text}")
            assert (page.status, f"<b>{label}</b>" in page.html) == (422, True), field
