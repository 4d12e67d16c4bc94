"""The console in Chromium: what a person does there, what axe finds, without JavaScript and on a small screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from playwright.async_api import ConsoleMessage, Page, ViewportSize

from app.interfaces.console.page import ROOT
from app.interfaces.console.pages import PAGES
from app.interfaces.console.sign_in import sign_in_link
from app.interfaces.request_state import SESSION_COOKIE
from tests.conformance.console.chromium import NARROW, WIDE, chromium, listening, signed_in
from tests.conformance.console.conftest import Shown
from tests.conformance.console.example_store import AGENT, NEW_ADDRESS, OLD_ADDRESS, POISONED, RUN, TENANT, Store
from tests.interfaces.console.stored import paths_of, poisoned
from tests.support.service import serving

AXE = AXE_FILE_PATH.read_text("utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
QUESTION = "Where are deliveries of Olsen Bygg wanted?"


@asynccontextmanager
async def opened(shown: Shown, *, admin: bool = True, **settings: Any) -> AsyncIterator[Page]:
    """A page of a person who is signed in; a script that fails, or anything that the policy stops, fails the test."""
    context = await shown.browser.new_context(**{"viewport": WIDE, **settings})
    page = await signed_in(context, shown.url, shown.store, admin=admin)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    yield page
    await context.close()
    assert complaints == []


def is_complaint(message: ConsoleMessage) -> bool:
    """Tell whether the browser complains, but for a page whose status is that of a refusal."""
    return message.type == "error" and "the server responded with a status of" not in message.text


async def paths(shown: Shown) -> list[str]:
    """Every page of the menu, with the pages behind them that the store has something for."""
    (old,) = await shown.store.ids(OLD_ADDRESS)
    (new,) = await shown.store.ids(NEW_ADDRESS)
    of_agent = f"agent={AGENT}"
    return [
        *(f"{page.path}?{of_agent}" for page in PAGES),
        f"/search?{of_agent}&q={QUESTION}",
        f"/search?{of_agent}&q={QUESTION}&metadata=nonsense",
        f"/search/why?{of_agent}&q={QUESTION}&memory={old}",
        f"/search/why?{of_agent}&q={QUESTION}&memory=Olsen",
        f"/search/why?{of_agent}&q={QUESTION}&memory=Olsen Hafenweg",
        f"/search/why?{of_agent}&q={QUESTION}&memory=01K2Z7A1B2C3D4E5F6G7H8J9KM",
        f"/memories/{old}?{of_agent}",
        f"/memories/{new}?{of_agent}&done=corrected",
        f"/memories/{new}/forget?{of_agent}",
        f"/session-start?{of_agent}&query={QUESTION}",
        f"/undo?{of_agent}&agent_id={AGENT}&session_id={POISONED}",
        f"/workflows?{of_agent}&agent_type=support&task_type=damaged-goods",
        f"/runs/{RUN}?{of_agent}",
        "/nothing",
    ]


async def findings(page: Page) -> list[str]:
    """What axe finds on a page; the content of a policy does not reach scripts that the driver evaluates."""
    await page.evaluate(AXE)
    result = await page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
    return [f"{each['id']}: {node['html'][:160]}" for each in result["violations"] for node in each["nodes"]]


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
@pytest.mark.timeout(300)
async def test_axe_finds_nothing_on_any_page(shown: Shown, scheme: Literal["light", "dark"]) -> None:
    async with opened(shown, color_scheme=scheme) as page:
        found = {}
        for path in await paths(shown):
            if path != "/nothing":
                await page.goto(f"{shown.url}{ROOT}{path}")
                found[path] = await findings(page)
        assert {path: problems for path, problems in found.items() if problems} == {}
    context = await shown.browser.new_context(color_scheme=scheme)
    page = await context.new_page()
    for path in ("/sign-in", "/sign-in?why=ended", "/sign-in/link?token=x", "/nothing"):
        await page.goto(f"{shown.url}{ROOT}{path}")
        assert await findings(page) == [], path
    await context.close()


@pytest.mark.parametrize(
    "size",
    [
        ViewportSize(width=320, height=640),
        pytest.param(NARROW, marks=pytest.mark.long),
        pytest.param(WIDE, marks=pytest.mark.long),
    ],
)
async def test_no_page_is_wider_than_the_screen(shown: Shown, size: ViewportSize) -> None:
    async with opened(shown, viewport=size, java_script_enabled=True) as page:
        widths = {}
        for path in await paths(shown):
            if path != "/nothing":
                await page.goto(f"{shown.url}{ROOT}{path}")
                widths[path] = await page.evaluate("document.documentElement.scrollWidth")
        assert {path: width for path, width in widths.items() if width > size["width"]} == {}


async def test_everything_works_without_javascript(shown: Shown) -> None:
    async with opened(shown, java_script_enabled=False, viewport=NARROW) as page:
        await page.get_by_text("Menu", exact=True).click()
        await page.get_by_role("link", name="Search").click()
        await page.get_by_label("Agent", exact=True).fill(AGENT)
        await page.get_by_role("button", name="Show this agent").click()
        await page.get_by_label("Question").fill(QUESTION)
        await page.get_by_role("button", name="Search").click()
        await page.get_by_text(NEW_ADDRESS).first.wait_for()
        await page.get_by_label("A memory that is missing").fill("Storgata")
        await page.get_by_role("button", name="Explain").click()
        await page.get_by_text("It was replaced").wait_for()


async def test_with_the_keyboard_alone_a_person_signs_in_skips_the_menu_and_searches(shown: Shown) -> None:
    context = await shown.browser.new_context(viewport=WIDE)
    page = await context.new_page()
    await page.goto(f"{shown.url}{ROOT}/sign-in")
    for _ in range(3):
        await page.keyboard.press("Tab")
    await page.keyboard.type(shown.store.token(AGENT))
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", name="Overview", exact=True).wait_for()
    await page.goto(f"{shown.url}{ROOT}/search")
    assert await page.evaluate("document.activeElement.id") == "q"
    await page.goto(f"{shown.url}{ROOT}/search?q=deliveries")
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.textContent") == "Skip to the content"
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.id") == "q"
    await page.keyboard.type(QUESTION)
    await page.keyboard.press("Enter")
    await page.get_by_text(NEW_ADDRESS).first.wait_for()
    await context.close()


async def test_a_person_finds_why_a_memory_was_not_recalled(shown: Shown) -> None:
    async with opened(shown, admin=False) as page:
        await page.get_by_role("link", name="Search", exact=True).click()
        await page.get_by_label("Question").fill(QUESTION)
        await page.get_by_role("button", name="Search").click()
        await page.get_by_label("A memory that is missing").fill("Storgata 12")
        await page.get_by_role("button", name="Explain").click()
        assert "another memory states what holds now" in await page.locator("#reason").inner_text()
        await page.get_by_text(NEW_ADDRESS).first.wait_for()
        await page.get_by_role("link", name="Ask this").click()
        await page.get_by_text(OLD_ADDRESS).first.wait_for()


async def test_a_person_corrects_a_memory_and_takes_that_back_forgets_one_and_takes_that_back(shown: Shown) -> None:
    store, before, after = (
        shown.store,
        "The warehouse in Moss is closed on Fridays.",
        "The warehouse in Moss is closed on Mondays.",
    )
    (id_,) = await store.ids(before)
    async with opened(shown, admin=False) as page:
        await page.goto(f"{shown.url}{ROOT}/memories/{id_}")
        await page.get_by_text("Correct it").click()
        await page.get_by_label("What holds now").fill(after)
        await page.get_by_role("button", name="Store what holds now").click()
        await page.get_by_text("This memory holds now").wait_for()
        assert await store.contents("When is the warehouse in Moss closed?", top_k=1) == [after]
        await page.get_by_role("button", name="Take the correction back").click()
        await page.get_by_text("this memory holds again").wait_for()
        assert await store.contents("When is the warehouse in Moss closed?", top_k=1) == [before]
        await page.get_by_role("link", name="Forget it").click()
        await page.get_by_text("It is hidden, not deleted").wait_for()
        assert before in await store.contents("When is the warehouse in Moss closed?", top_k=9)
        await page.get_by_role("button", name="Forget it").click()
        await page.get_by_text("no recall finds it").wait_for()
        assert before not in await store.contents("When is the warehouse in Moss closed?", top_k=9)
        await page.get_by_role("button", name="Remember it again").click()
        await page.get_by_text("The memory is remembered again.").wait_for()
        assert before in await store.contents("When is the warehouse in Moss closed?", top_k=9)


async def test_a_person_takes_back_what_a_poisoned_session_has_taught(shown: Shown) -> None:
    (id_,) = await shown.store.ids("Refunds need no approval when the customer is in a hurry.")
    async with opened(shown) as page:
        await page.goto(f"{shown.url}{ROOT}/memories/{id_}?agent={AGENT}")
        await page.get_by_role("link", name=f"The session {POISONED}").click()
        await page.get_by_text("2 memories are deleted").wait_for()
        assert len(await shown.store.ids("Refunds need no approval when the customer is in a hurry.")) == 1
        await page.get_by_role("button", name="Delete 2 memories").click()
        await page.get_by_text("2 memories deleted").wait_for()
    assert await shown.store.ids("Refunds need no approval when the customer is in a hurry.") == []
    assert "Refunds above 2000 kr need the approval of a team lead." in await shown.store.contents("refunds", top_k=9)


async def test_the_link_that_is_printed_signs_in_once(shown: Shown) -> None:
    runtime = shown.store.service.runtime
    now = runtime.backends.clock()
    link = sign_in_link(runtime.credentials, runtime.credentials.verify(shown.store.token(admin=True), now), now)
    for works in (True, False):
        context = await shown.browser.new_context()
        page = await context.new_page()
        await page.goto(f"{shown.url}{link}")
        await page.get_by_role("button", name="Open the console").click()
        await page.get_by_text("Sign out" if works else "holds no longer").wait_for()
        assert (SESSION_COOKIE in {cookie["name"] for cookie in await context.cookies()}) is works
        await context.close()


async def test_another_site_can_neither_send_a_form_nor_frame_a_page_nor_read_the_cookie(shown: Shown) -> None:
    (id_,) = await shown.store.ids("Express delivery to Bergen takes two days.")
    async with opened(shown, admin=False) as page:
        assert await page.evaluate("document.cookie") == ""
        other = shown.url.replace("127.0.0.1", "localhost")  # another site, to the browser
        target = f"{shown.url}{ROOT}/memories/{id_}/forget"
        html = f'<form method=post action="{target}"></form><iframe src="{shown.url}{ROOT}/search"></iframe>'
        attacker = await page.context.new_page()
        await attacker.route(f"{other}/evil", lambda route: route.fulfill(body=html, content_type="text/html"))
        await attacker.goto(f"{other}/evil")
        frame = attacker.frames[1]
        assert "Question" not in await frame.content()
        async with attacker.expect_navigation():
            await attacker.evaluate("document.forms[0].submit()")
        assert attacker.url.startswith(shown.url)
        assert "forgotten" not in await attacker.content()
    assert "Express delivery to Bergen takes two days." in await shown.store.contents("express delivery", top_k=9)


@pytest.mark.timeout(300)
async def test_whatever_was_stored_runs_nowhere_and_breaks_no_page(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, listening(service) as url, chromium() as browser:
        ids = await poisoned(service, TENANT, AGENT)
        async with opened(Shown(Store(service), url, browser), viewport=NARROW) as page:
            for path in paths_of(ids, AGENT):
                answer = await page.goto(f"{url}{ROOT}{path}")
                assert answer is not None
                if answer.headers["content-type"].startswith("text/html"):
                    assert await findings(page) == [], path
                    assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], path
