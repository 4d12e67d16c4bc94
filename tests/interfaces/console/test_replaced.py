"""What the pages say of a memory that another one has replaced, by whom, and how sure that is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.reading import Relation
from tests.interfaces.console.browser import Browser, Page, browsing
from tests.services.scripted_reader import DOUBTFUL, REPLACES, ScriptedReader
from tests.support.memories import memory_column
from tests.support.service import Service, serving

OLD, NEW = "Ella goes to Sunflower kindergarten.", "Ella is a first grader at Parkside."
QUESTION = "Where does Ella go?"


@asynccontextmanager
async def compared(data: Path, relation: Relation, answers: float = 0.0) -> AsyncIterator[Service]:
    """A service with both memories, after its reader has compared them, and rates each for the question."""
    reader = ScriptedReader({(OLD, NEW): relation}, answers={(QUESTION, text): answers for text in (OLD, NEW)})
    async with serving(data, change=lambda backends: replace(backends, reader=reader)) as service:
        await service.store(OLD, occurred_at="2026-01-01T00:00:00Z")
        await service.store(NEW, occurred_at="2026-02-01T00:00:00Z")
        async with asyncio.timeout(20):
            while not all(await memory_column(service, "statements_read")):
                await asyncio.sleep(0.01)
        yield service


def badges(page: Page) -> list[str]:
    """The badges of a page, in their order."""
    return page.words_of("tag")


async def ask(browser: Browser) -> Page:
    page = await browser.open("/console/search?agent=bot")
    return await browser.send(page.form("/search"), q=QUESTION)


@pytest.mark.parametrize(("relation", "likely"), [(REPLACES, "98 %"), (DOUBTFUL, "75 %")])
async def test_what_a_reader_says_was_replaced_is_probably_replaced_on_each_page(
    tmp_path: Path, relation: Relation, likely: str
) -> None:
    async with compared(tmp_path, relation) as service, browsing(service, agent="bot") as browser:
        page = await browser.open("/console/memories")
        assert badges(page) == ["holds", f"probably replaced ({likely})"]
        page = await browser.open(page.labelled(OLD))
        assert badges(page)[0] == f"probably replaced ({likely})"
        assert f"probably ({likely})" in badges(page)
        page = await browser.open(page.labelled(NEW))
        assert badges(page)[0] == "holds"
        page = await ask(browser)
        page = await browser.send(page.form("/search/why"), memory="Sunflower")
        assert badges(page)[0] == f"probably replaced ({likely})"


async def test_a_card_of_a_memory_that_was_probably_replaced_says_so_and_links_what_holds(tmp_path: Path) -> None:
    async with compared(tmp_path, DOUBTFUL) as service, browsing(service, agent="bot") as browser:
        page = await ask(browser)
        assert badges(page) == ["probably replaced (75 %)"]
        assert f"Probably replaced by “ {NEW} ”" in page.text
        assert f"It probably replaced “ {OLD} ”" in page.text


async def test_what_a_person_or_a_key_says_was_replaced_is_replaced(service: Service) -> None:
    fact = {"agent_id": "bot", "subject": "Ann", "predicate": "lives in", "single": True}
    await service.post("/facts", {**fact, "object": "Oslo"})
    service.later(1)
    await service.post("/facts", {**fact, "object": "Bergen"})
    await service.store(OLD)
    async with browsing(service, agent="bot") as browser:
        page = await browser.open((await browser.open("/console/memories")).labelled(OLD))
        await browser.send(page.form("/correct"), content=NEW)
        page = await browser.open("/console/memories")
        assert badges(page) == ["holds", "replaced", "holds", "replaced"]


async def test_a_memory_that_expired_is_not_said_to_hold(service: Service) -> None:
    await service.store(OLD, expires_at="2100-01-01T00:00:00Z")
    service.later(75 * 365 * 86_400)
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/search/why?q=Ella&memory=Sunflower")
    assert badges(page) == ["expired"]


@pytest.mark.parametrize(("answers", "said"), [(0.1, "Probably none of them answers"), (0.9, "2 of them answer.")])
async def test_one_sentence_says_whether_the_entries_answer_as_the_reader_does(
    tmp_path: Path, answers: float, said: str
) -> None:
    holds = Relation(0.97, 0.01, 0.01, 0.01)
    async with compared(tmp_path, holds, answers) as service, browsing(service, agent="bot") as browser:
        page = await ask(browser)
    assert said in page.text
    assert page.text.count("this answers (90 % likely") == (2 if answers > 0.5 else 0)
    assert "How likely it is" not in page.text
