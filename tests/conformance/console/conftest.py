"""A service with the example store on a socket, and Chromium."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Browser

from tests.conformance.console.chromium import CHROMIUM, chromium, listening
from tests.conformance.console.example_store import Store, filled
from tests.support.service import serving


@dataclass(frozen=True, slots=True)
class Shown:
    """A service with the example store, where it listens, and a browser."""

    store: Store
    url: str
    browser: Browser


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    """Need Chromium, and nothing from npm as the other proofs do."""
    if CHROMIUM is None:
        pytest.skip("not installed: chromium; run make conformance as root on Debian, or install it")


@pytest.fixture(scope="module")
async def shown(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shown]:
    """One for all tests of a module."""
    async with (
        serving(tmp_path_factory.mktemp("data")) as service,
        listening(service) as url,
        chromium() as browser,
    ):
        yield Shown(await filled(service), url, browser)
