"""The first page: what the agent has, what it was given lately, what was done, and whether all parts work."""

from app.runtime.recall_log import write_recalls
from tests.interfaces.console.browser import browsing
from tests.support.service import Service


async def test_an_administrator_sees_the_newest_memories_recalls_and_acts_and_that_all_works(service: Service) -> None:
    await service.store("Ann drinks tea.", session_id="s-1")
    await service.recall("what does Ann drink?")
    await write_recalls(service.runtime.backends)
    await service.client.put("/agents/bot", json={"retention_days": 30}, headers=service.credential(admin=True))
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console")
        assert page.path == "/console/overview"
        for told in (
            "bot has 1 memory",
            "1 memory given",
            "Changed the settings of agent bot",
            "All parts of the service work",
        ):
            assert told in page.text
        assert "what does Ann drink?" not in page.text
        assert page.text.count("Ann drinks tea.") == 2


async def test_an_agent_sees_its_own_alone(service: Service) -> None:
    await service.store("Ann drinks milk.", agent_id="other")
    await service.recall("what does Ann drink?", agent_id="other")
    await write_recalls(service.runtime.backends)
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/overview")
        assert "bot has 0 memories" in page.text
        for told in ("milk", "memory given", "parts of the service"):
            assert told not in page.text
        assert "milk" not in (await browser.open("/console/overview?agent=other")).text


async def test_who_may_list_nothing_begins_with_the_search(service: Service) -> None:
    async with browsing(service) as browser:
        page = await browser.open("/console")
        assert page.query["to"] == "search"
