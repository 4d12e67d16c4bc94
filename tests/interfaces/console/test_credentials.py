"""The page of credentials."""

from typing import Any

from tests.interfaces.console.browser import browsing
from tests.support.service import Service


async def minted(service: Service, **wanted: Any) -> dict[str, Any]:
    body = {"scopes": ["read", "write"]} | wanted
    answer = await service.client.post("/credentials", json=body, headers=service.credential(admin=True))
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_credential_is_shown_with_what_it_is_good_for_and_without_its_token(service: Service) -> None:
    made = await minted(service, agent_id="bot", speakers=["<b>Anna</b>"])
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/credentials")
        for told in (made["credential"]["id"], "agent bot", "read, write", "<b>anna</b>", "valid until"):
            assert told.lower() in page.text.lower()
        assert made["token"] not in page.html
        page = await browser.send(page.form("/credentials"), agent_id="other")
        assert "No credential matches the filter" in page.text


async def test_a_credential_that_is_revoked_lets_nobody_in_and_the_act_has_a_row(service: Service) -> None:
    made = await minted(service, agent_id="bot")
    held = {"Authorization": f"Bearer {made['token']}"}
    assert (await service.client.get("/memories?agent_id=bot", headers=held)).status_code == 200
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/credentials")
        page = await browser.open(page.link(f"{made['credential']['id']}/revoke"))
        page = await browser.send(page.form("/revoke"))
        assert "The credential is revoked" in page.text
        assert "revoked 20" in page.text
        acts = await browser.open("/console/acts?act=credential.revoke")
        assert "done console" in acts.text
        assert f"Revoked credential {made['credential']['id']}" in acts.text
    assert (await service.client.get("/memories?agent_id=bot", headers=held)).status_code == 401


async def test_credentials_are_shown_to_administrators_of_all_agents_of_their_tenant_alone(service: Service) -> None:
    made = await minted(service)
    path = f"/console/credentials/{made['credential']['id']}/revoke"
    async with browsing(service, admin=True, agent="bot") as browser:
        assert (await browser.open("/console/credentials")).status == 403
        assert (await browser.open(path)).status == 403
    async with browsing(service, "rival", admin=True) as browser:
        assert made["credential"]["id"] not in (await browser.open("/console/credentials")).text
        await browser.send((await browser.open(path)).form("/revoke"))
    held = {"Authorization": f"Bearer {made['token']}"}
    assert (await service.client.get("/runs", headers=held)).status_code == 200


async def test_an_odd_id_or_filter_is_refused_by_its_name(service: Service) -> None:
    async with browsing(service, admin=True) as browser:
        page = await browser.open(f"/console/credentials?minted_by={'x' * 10_000}")
        assert (page.status, "<b>Minted by credential</b>" in page.html) == (422, True)
        page = await browser.open("/console/credentials/%3Cb%3Eodd/revoke")
        assert "<b>odd" in page.text
        page = await browser.send(page.form("/revoke"))
        assert (page.status, "<b>Credential</b>" in page.html) == (422, True)
