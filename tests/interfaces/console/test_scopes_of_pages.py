"""Every page and form of the console, asked with a session of a credential that lacks a scope of it."""

import re
from typing import Any

import pytest

from app.interfaces.console.pages import PAGES
from app.services.access.scopes import READ_WRITE, AccessScope
from tests.interfaces.console.browser import browsing
from tests.support.service import Service

ADMINISTRATION = {
    *("GET /undo", "POST /undo/run", "GET /operations", "GET /acts"),
    *("GET /credentials", "GET /credentials/{credential_id}/revoke", "POST /credentials/{credential_id}/revoke"),
}
WRITES_ALONE = {"POST /ingestion/{operation_id}/retry"}
ROUTES = {f"{route.method} {route.path}": route for page in PAGES for route in page.routes}
CLAIM: dict[AccessScope, str] = {"read": "memory:read", "write": "memory:write", "admin": "memory admin"}


def needs(route: str) -> set[AccessScope]:
    if route in ADMINISTRATION:
        return {"admin"}
    if route in WRITES_ALONE:
        return {"write"}
    return {"read"} if route.startswith("GET") else {"read", "write"}


def test_every_page_and_form_says_what_it_needs() -> None:
    assert {name: set(route.scopes) for name, route in ROUTES.items()} == {name: needs(name) for name in ROUTES}
    assert set(ROUTES) >= ADMINISTRATION | WRITES_ALONE


@pytest.mark.parametrize("given", [frozenset({"read"}), READ_WRITE], ids=lambda given: "+".join(sorted(given)))
async def test_a_page_refuses_a_session_whose_credential_lacks_a_scope(
    service: Service, given: frozenset[AccessScope]
) -> None:
    async with browsing(service, agent="bot", scopes=given) as browser:
        form_key = (await browser.open("/console/search")).form("/sign-out").fields["form_key"]
        for name in ROUTES:
            method, _, path = name.partition(" ")
            address = "/console" + re.sub(r"{\w+}", "01K2Z4M1V7Q8T3B5N6C7D8E9FA", path)
            form: dict[str, Any] = {"data": {"form_key": form_key}, "headers": {"Sec-Fetch-Site": "same-origin"}}
            answer = await browser.client.request(method, address, **(form if method == "POST" else {}))
            missing = next((scope for scope in CLAIM if scope in needs(name) - given), None)
            if missing is None:
                assert answer.status_code != 403, (name, answer.text)
            else:
                assert answer.status_code == 403, name
                assert CLAIM[missing] in answer.text, name
