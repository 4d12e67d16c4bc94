"""The pages of ingestions, of the service's work behind the answers, and of usage."""

from tests.interfaces.console.browser import browsing
from tests.support.service import Service
from tests.support.tables import insert_rows

HOSTILE = "<img src=x onerror=alert(1)>"
MEMORY = "01JA0000000000000000000000"


async def ingest(service: Service, *contents: str, agent: str = "bot") -> str:
    messages = [{"role": "user", "content": content} for content in contents]
    answer = await service.post(f"/profiles/{agent}/ingest", {"session_id": HOSTILE, "messages": messages})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["operation_id"])


async def dead_letter(service: Service, *, tenant: str = "acme", agent: str = "bot") -> None:
    row = {"tenant_id": tenant, "agent_id": agent, "id": MEMORY, "index_name": "index", "operation": "delete"}
    refusal = {"revision": 1_790_000_000_000, "due_at": 2**53, "refusals": 3, "dead": f"refused: {HOSTILE}"}
    await insert_rows(service.runtime.backends.database, "outbox", row | refusal)


async def test_an_ingestion_is_shown_by_its_stages(service: Service) -> None:
    operation = await ingest(service, "I moved to Oslo.", "I like it here.")
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/ingestion")
        assert HOSTILE in page.text
        page = await browser.open(page.link(operation))
        assert "2 messages came, of which 0 were memories already and 2 have become memories" in page.text
        assert "No language model reads these messages" in page.text
        assert "img" not in {name for name, _ in page.tags}


async def test_an_ingestion_of_another_agent_or_tenant_is_not_there(service: Service) -> None:
    operation = await ingest(service, "I moved to Oslo.", agent="other")
    async with browsing(service, agent="bot") as browser:
        assert operation not in (await browser.open("/console/ingestion")).text
        assert (await browser.open(f"/console/ingestion/{operation}")).status == 404
    async with browsing(service, "rival", admin=True) as browser:
        assert (await browser.open(f"/console/ingestion/{operation}?agent=other")).status == 404


async def test_the_parts_the_backlog_and_the_dead_letters_are_shown_to_an_administrator(service: Service) -> None:
    await service.store("The office is in Oslo.")
    await dead_letter(service)
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/operations")
        assert page.status == 200
        for told in ("database", "sqlite", "works", "95 of 100 within", f"refused: {HOSTILE}", MEMORY):
            assert told in page.text
        assert "img" not in {name for name, _ in page.tags}


async def test_a_service_at_rest_is_not_said_to_lack_a_process(service: Service) -> None:
    await service.runtime.indexer.close()
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/operations")
        assert "at rest" in page.text
        assert "nobody does it" not in page.text


async def test_a_dead_letter_is_shown_to_its_tenant_and_its_agent_alone(service: Service) -> None:
    await dead_letter(service)
    async with browsing(service, "rival", admin=True) as browser:
        assert MEMORY not in (await browser.open("/console/operations")).text
    async with browsing(service, admin=True, agent="other") as browser:
        assert MEMORY not in (await browser.open("/console/operations")).text


async def test_who_is_no_administrator_is_neither_shown_the_page_of_operation_nor_led_to_it(service: Service) -> None:
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/search")
        assert not any("/operations" in link for link in page.links)
        assert (await browser.open("/console/operations")).status == 403


async def test_an_erasure_is_shown_with_its_receipt_to_its_tenant(service: Service) -> None:
    await service.store("The office is in Oslo.")
    erased = await service.client.delete("/agents/bot", headers=service.credential(admin=True))
    nothing = await service.client.delete("/agents/none", headers=service.credential(admin=True))
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/operations")
        assert erased.json()["id"] in page.text
        assert nothing.json()["id"] in page.text
        assert "Still found by search 0" in page.text
    async with browsing(service, "rival", admin=True) as browser:
        assert erased.json()["id"] not in (await browser.open("/console/operations")).text


async def test_usage_is_the_tenant_s_for_an_administrator_and_the_agent_s_for_an_agent(service: Service) -> None:
    await service.store("The office is in Oslo.")
    await service.store("The garage is in Bergen.", agent_id="other")
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/usage")
        assert "Memories 2" in page.text
        assert "other" in page.text
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/usage")
        assert "Memories 1" in page.text
        assert "other" not in page.text


async def test_an_agent_s_dead_letter_is_shown_however_many_others_have(service: Service) -> None:
    await dead_letter(service)
    row = {"tenant_id": "acme", "agent_id": "other", "index_name": "index", "operation": "delete", "refusals": 3}
    rest = {"revision": 1_790_000_000_001, "due_at": 2**53, "dead": "refused"}
    others = [row | rest | {"id": f"01JA{number:022}"} for number in range(1, 61)]
    await insert_rows(service.runtime.backends.database, "outbox", *others)
    async with browsing(service, admin=True, agent="bot") as browser:
        page = await browser.open("/console/operations")
    assert MEMORY in page.text
    assert str(others[0]["id"]) not in page.text
