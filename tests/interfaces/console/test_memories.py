"""The pages of memories: listed and filtered, one with its past, corrected, forgotten, and taken back."""

import pytest

from app.services.access.scopes import AccessScope
from tests.interfaces.console.browser import Browser, Page, browsing
from tests.support.service import Service

READ: frozenset[AccessScope] = frozenset({"read"})
TEA, COFFEE = "Ann drinks green tea.", "Ann drinks coffee."


@pytest.fixture(scope="module")
async def taught(shared_service: Service) -> Service:
    """The service of the tests that change nothing, with one memory."""
    await shared_service.store(TEA)
    return shared_service


async def page_of(browser: Browser, content: str = TEA) -> Page:
    """The page of the memory with this content, from the list."""
    page = await browser.open("/console/memories?agent=bot")
    (link,) = [
        link
        for link in page.links
        if "/memories/0" in link and content in (await browser.open(link)).text.partition("Happened")[0]
    ]
    return await browser.open(link)


async def corrected(browser: Browser, content: str = COFFEE) -> Page:
    page = await page_of(browser)
    return await browser.send(page.form("/correct"), content=content)


async def test_memories_are_listed_newest_first_page_by_page(service: Service) -> None:
    for number in range(30):
        await service.store(f"Note {number:02} of the day.")
        service.later(1)
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/memories")
        assert page.text.index("Note 29") < page.text.index("Note 05")
        assert "Note 04" not in page.text
        page = await browser.open(page.labelled("Next page"))
        assert "Note 04" in page.text
        assert "Next page" not in page.text


async def test_the_list_is_filtered_by_metadata_day_kind_and_credential(service: Service) -> None:
    await service.store(TEA, metadata={"topic": "tea"})
    await service.store(COFFEE)
    async with browsing(service, agent="bot") as browser:
        form = (await browser.open("/console/memories")).form("/memories")
        page = await browser.send(form, words="green tea")
        assert (TEA in page.text, COFFEE in page.text) == (True, False)
        assert (await browser.send(form, words="?")).status == 422
        page = await browser.send(form, metadata="topic=tea")
        assert (TEA in page.text, COFFEE in page.text) == (True, False)
        assert page.form("/memories").fields["metadata"] == "topic=tea"
        assert "No memory matches the filter" in (await browser.send(form, created_before="2001-01-01")).text
        assert "No memory matches the filter" in (await browser.send(form, written_by="nobody")).text
        assert "No memory matches the filter" in (await browser.send(form, type="event")).text
        assert TEA in (await browser.send(form, type="nonsense")).text


@pytest.mark.parametrize(
    "query",
    [
        "metadata=k%3D" + "v" * 20_000,
        "created_after=2026-13-01",
        "written_by=" + "x" * 65,
        "written_by=%00",
        "cursor=forged",
        "metadata=nothing",
    ],
)
async def test_a_filter_of_another_form_is_refused_beside_the_form(shared_service: Service, query: str) -> None:
    async with browsing(shared_service, agent="bot") as browser:
        page = await browser.open(f"/console/memories?{query}")
    assert page.status in {400, 413, 422}
    assert page.form("/memories").method == "get"


@pytest.mark.parametrize("id_", ["x", "0" * 26, "%00", "..%2F..", "01K2Z7A1B2C3D4E5F6G7H8J9KM", "<script>", "é" * 300])
async def test_an_id_of_an_odd_form_has_a_page_that_says_so(shared_service: Service, id_: str) -> None:
    async with browsing(shared_service, agent="bot") as browser:
        page = await browser.open(f"/console/memories/{id_}")
    assert page.status in {404, 422}
    assert "<script" not in page.html


async def test_a_correction_holds_and_both_memories_name_each_other(any_service: Service) -> None:
    await any_service.store(TEA, metadata={"topic": "drinks"})
    async with browsing(any_service, agent="bot") as browser:
        page = await corrected(browser)
        assert "This memory holds now" in page.text
        assert COFFEE in page.text
        assert "topic drinks" in page.text
        assert "by console" in page.text or "Written by console" in page.text
        assert await any_service.contents("what does Ann drink?") == [COFFEE]
        page = await browser.open(page.link("/memories/0"))
        assert "Replaced by" in page.text
        assert "corrected" in page.text
        assert not [form for form in page.forms if form.action.endswith("/correct")]


async def test_a_correction_is_taken_back(any_service: Service) -> None:
    await any_service.store(TEA)
    async with browsing(any_service, agent="bot") as browser:
        page = await corrected(browser)
        page = await browser.send(page.form("/take-back"))
        assert "this memory holds again" in page.text
        assert TEA in page.text
    assert await any_service.contents("what does Ann drink?") == [TEA]


async def test_a_correction_that_is_sent_twice_is_made_once(any_service: Service) -> None:
    await any_service.store(TEA)
    async with browsing(any_service, agent="bot") as browser:
        form = (await page_of(browser)).form("/correct")
        first = await browser.send(form, content=COFFEE)
        any_service.later(5)
        second = await browser.send(form, content=COFFEE)
        assert first.path == second.path
        page = await browser.send(form, content="Ann drinks milk.")
        assert page.status == 409
    assert await any_service.contents("what does Ann drink?") == [COFFEE]


async def test_a_memory_that_is_dated_ahead_is_corrected_at_once_and_that_is_taken_back(any_service: Service) -> None:
    await any_service.store(TEA, occurred_at="2099-12-31T00:00:00Z")
    async with browsing(any_service, agent="bot") as browser:
        page = await corrected(browser)
        assert await any_service.contents("what does Ann drink?") == [COFFEE]
        await browser.send(page.form("/take-back"))
    assert await any_service.contents("what does Ann drink?") == [TEA]


@pytest.mark.parametrize("content", ["", TEA, "x" * 40_000, "a\x00b"])
async def test_a_correction_that_cannot_be_stored_is_refused_beside_what_was_written(
    taught: Service, content: str
) -> None:
    async with browsing(taught, agent="bot") as browser:
        page = await corrected(browser, content)
        assert page.status in {413, 422}
        assert page.form("/correct").fields["content"].strip() == content.strip()
    assert await taught.contents("what does Ann drink?") == [TEA]


async def test_a_correction_of_a_fact_replaces_it(service: Service) -> None:
    fact = {"agent_id": "bot", "subject": "Ann", "predicate": "lives in", "object": "Oslo", "single": True}
    await service.post("/facts", fact)
    async with browsing(service, agent="bot") as browser:
        page = await browser.send((await page_of(browser, "Oslo")).form("/correct"), content="Ann moved to Bergen.")
        assert page.status == 200
    assert await service.contents("Where does Ann live?") == ["Ann moved to Bergen."]


async def test_a_memory_that_a_program_keeps_for_itself_is_not_corrected(service: Service) -> None:
    await service.store(TEA, metadata={"store.key": "k"})
    async with browsing(service, agent="bot") as browser:
        assert (await corrected(browser)).status == 422


async def test_a_memory_is_forgotten_and_that_is_taken_back(service: Service) -> None:
    await service.store(TEA)
    async with browsing(service, agent="bot") as browser:
        page = await browser.open((await page_of(browser)).labelled("Forget it"))
        assert "no recall finds it" in page.text
        assert await service.contents("what does Ann drink?") == [TEA]
        assert (await browser.open(page.labelled("Leave it"))).path.startswith("/console/memories/")
        page = await browser.send(page.form("/forget"))
        assert "forgotten" in page.text
        assert await service.contents("what does Ann drink?") == []
        page = await browser.send(page.form("/remember"))
        assert "remembered again" in page.text
    assert await service.contents("what does Ann drink?") == [TEA]


async def test_a_credential_that_may_only_read_changes_nothing(taught: Service) -> None:
    async with browsing(taught, agent="bot") as writer, browsing(taught, agent="bot") as browser:
        form = (await writer.open((await page_of(writer)).labelled("Forget it"))).form("/forget")
        await browser.sign_in(taught.credential(agent="bot", scopes=READ))
        page = await page_of(browser)
        assert page.status == 200
        page = await browser.send(form, form_key=page.form("/sign-out").fields["form_key"])
        assert page.status == 403
    assert await taught.contents("what does Ann drink?") == [TEA]


async def test_an_administrator_picks_the_agent_first_and_keeps_it_from_page_to_page(service: Service) -> None:
    await service.store(TEA)
    await service.store(COFFEE, agent_id="other")
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/memories")
        assert page.path == "/console/agents"
        page = await browser.open(page.labelled("other"))
        assert (page.path, COFFEE in page.text, TEA in page.text) == ("/console/memories", True, False)
        page = await browser.open(page.link("/console/search"))
        assert page.form("/search").fields["agent"] == "other"
        page = await browser.send((await browser.open("/console/agents?to=memories")).form("/pick"), agent="bot")
        assert TEA in page.text
        page = await browser.send((await browser.open("/console/agents")).form("/pick"), agent="no id")
        assert page.status == 422


async def test_a_credential_for_all_agents_that_is_no_administrator_s_searches_and_lists_nothing(
    taught: Service,
) -> None:
    async with browsing(taught) as browser:
        page = await browser.open("/console/search?agent=bot")
        assert TEA in (await browser.send(page.form("/search"), q="what does Ann drink?")).text
        assert (await browser.open("/console/memories?agent=bot")).status == 403
        assert not any("/agents/pick?agent" in link for link in (await browser.open("/console/agents")).links)
