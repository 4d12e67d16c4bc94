"""The page that searches as an agent does, and the page that says why a memory was not returned."""

import pytest

from tests.interfaces.console.browser import Browser, Page, browsing
from tests.support.service import Service


@pytest.fixture(scope="module")
async def taught(shared_service: Service) -> Service:
    """The service of the tests that change nothing, with one memory."""
    await shared_service.store("Ann drinks green tea.", metadata={"topic": "tea", "year": 2025}, session_id="s-1")
    return shared_service


async def ask(browser: Browser, question: str, **fields: str) -> Page:
    page = await browser.open("/console/search?agent=bot")
    return await browser.send(page.form("/search"), filled={"q": question, **fields})


async def why_not(browser: Browser, question: str, memory: str, **fields: str) -> Page:
    page = await ask(browser, question, **fields)
    return await browser.send(page.form("/search/why"), memory=memory)


async def id_of(service: Service, content: str, **fields: str) -> str:
    (id_,) = [entry["id"] for entry in await service.recall(content, top_k=50, **fields) if entry["content"] == content]
    return str(id_)


async def test_an_entry_is_shown_with_its_score_the_share_of_each_channel_and_its_source(taught: Service) -> None:
    async with browsing(taught, agent="bot") as browser:
        page = await ask(browser, "what does Ann drink?")
    assert "1 entry" in page.text
    for part in (
        "Ann drinks green tea.",
        "meaning +",
        "words +",
        "session s-1",
        "by HTTP",
        "Metadata topic tea",
        "its session",
        "What the shares mean",
    ):
        assert part in page.text


async def test_that_an_agent_has_no_memories_and_that_none_passes_are_two_things(service: Service) -> None:
    async with browsing(service, agent="bot") as browser:
        assert "The agent bot has no memories yet." in (await ask(browser, "what does Ann drink?")).text
        await service.store("Ann drinks green tea.")
        assert "No memory matches the filter." in (await ask(browser, "tea", created_before="2001-01-01")).text


async def test_the_filter_and_the_number_of_entries_are_those_of_a_recall(service: Service) -> None:
    await service.store("Ann drinks green tea.", metadata={"year": 2025})
    await service.store("Ann drinks black tea.", metadata={"year": 2026})
    async with browsing(service, agent="bot") as browser:
        page = await ask(browser, "what does Ann drink?", metadata="year=2026")
        assert ("black" in page.text, "green" in page.text) == (True, False)
        page = await ask(browser, "what does Ann drink?", metadata='year="2026"')
        assert "No memory matches the filter." in page.text
        assert "1 entry" in (await ask(browser, "what does Ann drink?", top_k="1")).text


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"top_k": "0"}, "Entries at most must be from 1 to"),
        ({"top_k": "9999999999999"}, "Entries at most must be from 1 to"),
        ({"top_k": "five"}, "Entries at most must be a whole number"),
        ({"min_score": "much"}, "Score at least must be"),
        ({"min_score": "nan"}, "Score at least must be"),
        ({"as_of": "yesterday"}, "As of must be a day of the calendar"),
        ({"created_after": "2026-02-30"}, "Stored after must be a day of the calendar"),
        ({"metadata": "no pair"}, "Metadata must be"),
        ({"metadata": "k=" + "v" * 20_000}, "Metadata has"),
        ({"metadata": "\n".join(f"k{number}=v" for number in range(40))}, "Metadata has"),
        ({"q": "x" * 40_000}, "Question has"),
    ],
)
async def test_a_field_of_another_form_is_named_beside_the_form(
    shared_service: Service, fields: dict[str, str], named: str
) -> None:
    async with browsing(shared_service, agent="bot") as browser:
        page = await ask(
            browser, **{"question": "tea", **{("question" if k == "q" else k): v for k, v in fields.items()}}
        )
    assert page.status in {413, 422}
    assert named in page.text
    assert page.form("/search").fields["q"]
    (field,) = fields
    (given,) = [given for _, given in page.tags if given.get("name") == field and given.get("id") == field]
    assert (given["aria-invalid"], given["aria-describedby"].split()[0]) == ("true", f"{field}-wrong")
    assert [given for _, given in page.tags if given.get("id") == f"{field}-wrong"]


async def test_a_memory_that_was_forgotten_is_explained(service: Service) -> None:
    await service.store("Ann drinks green tea.")
    id_ = await id_of(service, "Ann drinks green tea.")
    await service.post(f"/profiles/bot/memories/{id_}/forget", None)
    async with browsing(service, agent="bot") as browser:
        page = await why_not(browser, "what does Ann drink?", id_)
    assert "It was forgotten on" in page.text


async def test_a_memory_that_was_replaced_is_explained_with_the_one_that_holds(any_service: Service) -> None:
    fact = {"agent_id": "bot", "subject": "Ann", "predicate": "lives in", "single": True}
    await any_service.post("/facts", {**fact, "object": "Oslo"})
    any_service.later(1)
    old = (await any_service.recall("Where does Ann live?"))[0]
    await any_service.post("/facts", {**fact, "object": "Bergen"})
    async with browsing(any_service, agent="bot") as browser:
        page = await why_not(browser, "Where does Ann live?", old["id"])
        assert "It was replaced" in page.text
        assert "Bergen" in page.text
        page = await browser.open(page.labelled("Ask this"))
        assert "Oslo" in page.text


async def test_a_memory_that_expired_is_explained(service: Service) -> None:
    await service.store("Ann drinks green tea.", expires_at="2100-01-01T00:00:00Z")
    id_ = await id_of(service, "Ann drinks green tea.")
    service.later(75 * 365 * 86_400)
    async with browsing(service, agent="bot") as browser:
        page = await why_not(browser, "what does Ann drink?", id_)
    assert "It expired on 2100-01-01 00:00:00." in page.text


async def test_a_memory_that_does_not_pass_the_filter_is_explained_with_the_question_that_returns_it(
    taught: Service,
) -> None:
    id_ = await id_of(taught, "Ann drinks green tea.")
    async with browsing(taught, agent="bot") as browser:
        page = await why_not(browser, "what does Ann drink?", id_, metadata="year=2026")
        assert "It does not pass the filter: its metadata has another year." in page.text
        page = await browser.open(page.labelled("Ask this"))
        assert "Ann drinks green tea." in page.text


async def test_a_memory_below_the_last_entry_is_explained_by_its_rank(service: Service) -> None:
    for drink in ("green tea", "black tea", "coffee"):
        await service.store(f"Ann drinks {drink}.")
    await service.store("The invoice is due.")
    async with browsing(service, agent="bot") as browser:
        page = await why_not(browser, "Ann drinks tea", await id_of(service, "Ann drinks coffee."), top_k="1")
        assert "Others are better: it has rank 3 of" in page.text
        assert "1 entry was asked for" in page.text


async def test_a_memory_below_the_least_score_is_explained(service: Service) -> None:
    await service.store("Ann drinks green tea.")
    await service.store("Ben likes music.")
    async with browsing(service, agent="bot") as browser:
        page = await why_not(browser, "what does Ann drink?", await id_of(service, "Ben likes music."), min_score="0.9")
    assert "is below the least that is asked for, 90 %" in page.text


async def test_a_memory_that_is_an_entry_is_said_to_be_one(taught: Service) -> None:
    async with browsing(taught, agent="bot") as browser:
        page = await why_not(browser, "what does Ann drink?", await id_of(taught, "Ann drinks green tea."))
    assert "It is returned: it is the best entry." in page.text


async def test_words_name_a_memory_and_where_several_have_them_one_is_picked(service: Service) -> None:
    await service.store("Ann drinks green tea.")
    async with browsing(service, agent="bot") as browser:
        assert "It is returned" in (await why_not(browser, "what does Ann drink?", "green tea")).text
        await service.store("Ben grows green tea.")
        page = await why_not(browser, "what does Ann drink?", "green tea")
        assert "Which one?" in page.text
        page = await browser.open(page.link("memory=0"))
        assert "Ben grows green tea." in page.text
        assert "Its score" in page.text


@pytest.mark.parametrize(
    "words", ["Hafenstraße 3", "hafen", "Wohin sollen denn die Pakete der Firma Olsen gehen?", "Olsen ships"]
)
async def test_words_that_no_memory_has_all_of_lead_to_the_nearest(any_service: Service, words: str) -> None:
    await any_service.store("Olsen ships to Hafenstraße 12.")
    await any_service.store("Olsen ships to Hafengasse 9.")
    await any_service.store("The invoice is due.")
    (id_,) = [one["id"] for one in await any_service.recall("Olsen", top_k=9) if "straße" in one["content"]]
    await any_service.post(f"/profiles/bot/memories/{id_}/forget", None)
    async with browsing(any_service, agent="bot") as browser:
        page = await why_not(browser, "Where does Olsen ship to?", words)
        is_exact = words == "Olsen ships"
        assert ("No memory has exactly these words" in page.text) is not is_exact
        assert "never stored" not in page.text
        page = await browser.open(page.labelled("Olsen ships to Hafenstraße 12."))
        assert "It was forgotten on" in page.text


async def test_words_of_a_forgotten_and_of_an_expired_memory_find_it(any_service: Service) -> None:
    await any_service.store("Ann drinks green tea.")
    await any_service.store("Ben drinks coffee.", expires_at="2100-01-01T00:00:00Z")
    id_ = await id_of(any_service, "Ann drinks green tea.")
    await any_service.post(f"/profiles/bot/memories/{id_}/forget", None)
    any_service.later(75 * 365 * 86_400)
    async with browsing(any_service, agent="bot") as browser:
        assert "It was forgotten on" in (await why_not(browser, "drinks", "green tea")).text
        assert "It expired on" in (await why_not(browser, "drinks", "coffee")).text


async def test_a_memory_that_was_deleted_is_said_to_be_gone_and_by_whom(service: Service) -> None:
    await service.store("Ann drinks green tea.")
    id_ = await id_of(service, "Ann drinks green tea.")
    await service.delete(id_)
    async with browsing(service, agent="bot") as browser:
        page = await why_not(browser, "what does Ann drink?", id_)
    assert "it was deleted on" in page.text
    assert "by the credential" in page.text


async def test_an_administrator_is_told_whose_a_memory_is_and_an_agent_is_not(any_service: Service) -> None:
    await any_service.store("Ann drinks green tea.", agent_id="other")
    id_ = await id_of(any_service, "Ann drinks green tea.", agent_id="other")
    async with browsing(any_service, admin=True) as browser:
        assert "It is a memory of another agent, other" in (await why_not(browser, "tea", id_)).text
    async with browsing(any_service, agent="bot") as browser:
        page = await why_not(browser, "tea", id_)
        assert "It was never stored for this agent" in page.text
        assert "other" not in page.text.replace("another", "")


@pytest.mark.parametrize("memory", ["", "?!", "the", "x" * 40_000, '" OR scope : "', "NEAR(a b)", "\u202e", "a\x00b"])
async def test_words_of_an_odd_form_find_nothing_and_break_nothing(taught: Service, memory: str) -> None:
    async with browsing(taught, agent="bot") as browser:
        page = await why_not(browser, "tea", memory)
    assert page.status in {200, 413, 422}
    assert "green tea" not in page.text or "No memory has exactly these words" in page.text
