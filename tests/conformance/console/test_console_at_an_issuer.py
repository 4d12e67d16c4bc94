"""A person signs in to the console in Chromium at an issuer that was not written here, and which is another site."""

from pathlib import Path
from typing import Any

import pytest

from app.interfaces.console.issuer import COOKIE
from app.interfaces.request_state import SESSION_COOKIE
from tests.conformance.console.chromium import chromium, listening
from tests.conformance.issuer import packaged_issuer
from tests.conformance.test_issuers import free_port
from tests.support.service import serving

pytestmark = pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning")  # of the package's own code


async def test_a_person_signs_in_at_the_issuer_and_comes_back_to_the_page_that_was_asked_for(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://localhost:{port}"  # the issuer is at 127.0.0.1: another site, to the browser
    with packaged_issuer(f"{url}/mcp") as issuer:
        issuer.claims = {"ann": {"tenant": "acme"}, "eve": {}}
        settings: dict[str, Any] = {
            "public_url": url,
            "oidc_issuer": issuer.url,
            "oidc_client_id": "console",
            "oidc_agent_claim": "sub",
        }
        async with (
            serving(tmp_path, oidc_client_secret="any", **settings) as service,
            listening(service, port) as _,
            chromium() as browser,
        ):
            await service.store("Ann drinks green tea.", agent_id="ann")
            for subject in ("eve", "ann"):
                context = await browser.new_context()
                page = await context.new_page()
                await page.goto(f"{url}/console/memories")
                await page.get_by_role("link", name="Sign in with your company's account").click()
                assert page.url.startswith(issuer.url)
                await page.locator("input[name=sub]").first.fill(subject)
                await page.locator("input[name=sub]").first.press("Enter")
                if subject == "eve":
                    await page.get_by_role("alert").or_(page.get_by_role("status")).first.wait_for()
                    assert SESSION_COOKIE not in {cookie["name"] for cookie in await context.cookies()}
                else:
                    await page.get_by_text("Ann drinks green tea.").wait_for()
                    assert page.url == f"{url}/console/memories"
                    cookies = {cookie["name"]: cookie for cookie in await context.cookies(url)}
                    assert cookies[SESSION_COOKIE]["sameSite"] == "Strict"
                    assert COOKIE not in cookies
                await context.close()
