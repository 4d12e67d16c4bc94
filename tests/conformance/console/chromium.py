"""The Chromium of the system, driven by playwright, and the service on a socket for it."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from playwright.async_api import Browser, BrowserContext, Page, ViewportSize, async_playwright

from app.interfaces.asgi import create_app
from app.interfaces.request_state import SESSION_COOKIE
from tests.conformance.console.example_store import Store
from tests.support.service import Service

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
"""Where Chromium is; None: it is not installed (``make conformance`` installs it on Debian)."""
WIDE, NARROW = ViewportSize(width=1280, height=860), ViewportSize(width=360, height=740)
_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]  # root has no sandbox


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser without any page."""
    assert CHROMIUM is not None
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=Path(CHROMIUM), args=_ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def listening(service: Service, port: int = 0) -> AsyncIterator[str]:
    """The URL at which a service listens on a socket, by default on any port."""
    server = uvicorn.Server(uvicorn.Config(create_app(service.shards), port=port, log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await running


async def sign_in(page: Page, url: str, token: str) -> None:
    """Sign in with a credential, as a person does."""
    await page.goto(f"{url}/console/sign-in")
    await page.get_by_label("Credential").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Sign out").wait_for()


async def signed_in(context: BrowserContext, url: str, store: Store, *, admin: bool = True) -> Page:
    """A page of a context that is signed in as an administrator, or as the agent."""
    page = await context.new_page()
    await sign_in(page, url, store.token(admin=True) if admin else store.token("support"))
    assert SESSION_COOKIE in {cookie["name"] for cookie in await context.cookies()}
    return page
