"""What pages show of what was stored: as text, whatever it says, and never anything of another tenant or agent."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.interfaces.console.browser import Page, browsing
from tests.interfaces.console.stored import EVIL, every_page, poisoned
from tests.support.service import Service, serving

MARK = "k7qz9-canary"
TAGS_OF_PAGES = frozenset(
    (
        *("html", "head", "meta", "title", "link", "body", "header", "nav", "main", "section", "footer", "div", "span"),
        *(
            "form",
            "input",
            "button",
            "label",
            "textarea",
            "select",
            "optgroup",
            "option",
            "small",
            "details",
            "summary",
        ),
        *(
            "h1",
            "h2",
            "h3",
            "p",
            "a",
            "b",
            "code",
            "pre",
            "time",
            "ul",
            "ol",
            "li",
            "dl",
            "dt",
            "dd",
            "svg",
            "rect",
            "img",
        ),
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
    )
)
SHARED = ("/workflows", "/session-start")
"""The pages that show what all agents of a tenant share."""


@pytest.fixture(scope="module")
async def evil(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Service, dict[str, str]]]:
    """A service whose every field has a text that breaks out of where it is written, and the ids of what is stored."""
    async with serving(tmp_path_factory.mktemp("data")) as service:
        yield service, await poisoned(service)


@pytest.fixture(scope="module")
async def marked(shared_service: Service) -> tuple[Service, dict[str, str]]:
    """The service of the tests of what others see, with the mark in every field of one agent, and the ids of that."""
    return shared_service, await poisoned(shared_service, "acme", "bot", MARK)


@pytest.mark.parametrize("who", [{"admin": True}, {"agent": "bot"}])
async def test_whatever_was_stored_is_shown_as_text(evil: tuple[Service, dict[str, str]], who: dict[str, Any]) -> None:
    service, ids = evil
    shown = 0
    async with browsing(service, **who) as browser:
        for path, answer in await every_page(browser, ids):
            assert answer.status_code in {200, 403, 404, 422}, (path, answer.status_code)
            if answer.headers["content-type"].startswith("image/"):
                assert b"<script" not in answer.content, path
                continue
            page = Page(answer)
            tags = {tag for tag, _ in page.tags}
            assert tags <= TAGS_OF_PAGES, (path, tags - TAGS_OF_PAGES)
            assert not [name for _, given in page.tags for name in given if name.startswith("on")], path
            assert not [given for tag, given in page.tags if tag == "img" and given.get("src") == "x"], path
            assert "49" not in re.findall(r"amp;(\d+)", answer.text), path
            assert "\u202e" not in re.sub("<textarea.*?</textarea>", "", answer.text, flags=re.DOTALL), path
            shown += "alert(1)" in page.text
    assert shown > 8


async def test_what_a_request_says_is_shown_as_text(shared_service: Service) -> None:
    async with browsing(shared_service, admin=True) as browser:
        for path, answer in await every_page(browser, {"memory": EVIL, "run": EVIL, "operation": EVIL}, "bot"):
            if not answer.headers["content-type"].startswith("image/"):
                assert {tag for tag, _ in Page(answer).tags} <= TAGS_OF_PAGES, path
        for name in ("agent", "q", "memory", "next", "cursor", "metadata", "done", "why", "to"):
            for path in ("/search", "/memories", "/sign-in", "/agents", "/undo", "/session-start"):
                answer = await browser.client.get(f"/console{path}", params={name: EVIL, "agent": "bot"} | {name: EVIL})
                page = Page(answer)
                assert {tag for tag, _ in page.tags} <= TAGS_OF_PAGES, (path, name)


@pytest.mark.parametrize(
    "who",
    [
        {"tenant": "other", "admin": True},
        {"tenant": "other", "agent": "bot"},
        {"tenant": "acme", "agent": "other"},
        {"tenant": "acme", "agent": "other", "admin": True},
    ],
)
async def test_no_page_tells_anything_of_another_tenant_or_agent(
    marked: tuple[Service, dict[str, str]], who: dict[str, str]
) -> None:
    service, ids = marked
    async with browsing(service, **who) as browser:
        for path, answer in await every_page(browser, ids, "bot"):
            told = answer.text
            for named in (*ids.values(), *map(str, answer.request.url.params.values())):
                told = told.replace(named, "") if named else told
            if who["tenant"] == "acme" and path.startswith(SHARED):
                continue
            assert MARK not in told, path
            assert answer.status_code in {200, 403, 404, 422}, path


async def test_a_page_of_another_tenant_s_memory_is_that_of_none(marked: tuple[Service, dict[str, str]]) -> None:
    service, ids = marked
    async with browsing(service, "other", admin=True) as browser:
        theirs = await browser.open(f"/console/memories/{ids['memory']}?agent=bot")
        none = await browser.open("/console/memories/01K2Z7A1B2C3D4E5F6G7H8J9KM?agent=bot")
        assert theirs.status == none.status == 404

        def without_ids(page: Page) -> str:
            return re.sub(r"[0-9a-f]{32}", "", page.text)

        assert without_ids(theirs) == without_ids(none)
