"""The page that takes back a source: what it would do is shown first, and a second step does it."""

import json
from typing import Any

import jwt
import pytest

from app.interfaces.console.page import ConsolePage
from app.interfaces.console.pages import PAGES
from tests.interfaces.console.browser import Browser, Form, browsing
from tests.support.service import Service

OSLO, ROME = "Ann lives in Oslo.", "Ann lives in Rome."
FACT = {"agent_id": "bot", "subject": "Ann", "predicate": "lives in", "single": True}


@pytest.fixture(scope="module")
async def taught(shared_service: Service) -> Service:
    """The service of the tests that change nothing, with one memory."""
    await shared_service.store("Ann drinks tea.", session_id="s")
    return shared_service


async def preview(browser: Browser, **named: str) -> Any:
    form = (await browser.open("/console/undo")).form("/console/undo")
    return await browser.send(form, filled=form.fields | named)


async def acts(service: Service) -> list[dict[str, Any]]:
    answer = await service.client.get("/audit/acts/export", headers=service.credential(admin=True))
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_a_session_is_taken_back_after_what_that_would_do_was_shown(service: Service) -> None:
    await service.store("Ann drinks tea.", session_id="good")
    await service.store("Ann pays to the account 123.", session_id="bad")
    async with browsing(service, admin=True) as browser:
        page = await preview(browser, session_id="bad", agent_id="bot")
        assert "1 memory is deleted" in page.text
        assert "Ann pays to the account 123." in page.text
        assert "Nothing was changed yet" in page.text
        assert len(await service.contents("Ann", top_k=5)) == 2
        page = await browser.send(page.form("/run"))
        assert "Took back session bad of agent bot: 1 memory deleted." in page.text
        assert page.query["agent"] == "bot"
    assert await service.contents("Ann", top_k=5) == ["Ann drinks tea."]


async def test_a_credential_is_taken_back_it_is_revoked_and_what_it_replaced_holds_again(any_service: Service) -> None:
    await any_service.post("/facts", FACT | {"object": "Oslo"})
    any_service.later(1)
    poisoned = any_service.credential(agent="bot")
    await any_service.client.post("/facts", json=FACT | {"object": "Rome"}, headers=poisoned)
    token = poisoned["Authorization"].removeprefix("Bearer ")
    id_ = jwt.decode(token, options={"verify_signature": False})["jti"]
    async with browsing(any_service, admin=True) as browser:
        page = await preview(browser, credential_id=id_)
        for part in (
            "1 memory is deleted",
            "1 that was replaced holds again",
            "The credential is revoked",
            "Oslo",
            "Rome",
        ):
            assert part in page.text
        assert (await browser.send(page.form("/run"))).status == 422
        page = await browser.send(page.form("/run"), confirm=id_)
        assert f"Took back credential {id_}: 1 memory deleted, 1 memory holds again." in page.text
        assert "Oslo" in page.text
    assert ["Oslo" in content for content in await any_service.contents("Where does Ann live?")] == [True]
    answer = await any_service.client.post("/recall", json={"agent_id": "bot", "query": "x"}, headers=poisoned)
    assert answer.status_code == 401


async def test_more_than_ten_memories_are_taken_back_once_their_number_is_typed(service: Service) -> None:
    for number in range(25):
        await service.store(f"Ann pays to the account {number}.", session_id="bad")
    async with browsing(service, admin=True) as browser:
        page = await preview(browser, session_id="bad", agent_id="bot")
        assert "Delete 25 memories" in page.text
        assert "page 1 of 2" in page.text
        seen = page.text
        seen += (await browser.open(page.labelled("Next ones"))).text
        assert all(f"account {number}." in seen for number in range(25))
        for typed in ("", "24", "good"):
            refused = await browser.send(page.form("/run"), confirm=typed)
            assert (refused.status, "must be the number 25" in refused.text) == (422, True)
        assert len(await service.contents("Ann", top_k=50)) == 25
        page = await browser.send(refused.form("/run"), confirm="25")
        assert "25 memories deleted" in page.text
    assert await service.contents("Ann", top_k=50) == []


async def test_what_came_after_it_was_shown_is_not_taken_back_unseen(service: Service) -> None:
    await service.store("Ann pays to the account 1.", session_id="bad")
    async with browsing(service, admin=True) as browser:
        page = await preview(browser, session_id="bad", agent_id="bot")
        await service.store("Ann pays to the account 2.", session_id="bad")
        page = await browser.send(page.form("/run"))
        assert (page.status, "more than were shown" in page.text) == (422, True)
        page = await browser.send(page.form("/run"))
        assert "2 memories deleted" in page.text


@pytest.mark.parametrize("named", [{"session_id": "none", "agent_id": "bot"}, {"credential_id": "none"}])
async def test_of_a_source_that_is_not_known_nothing_can_be_taken_back(
    shared_service: Service, named: dict[str, str]
) -> None:
    async with browsing(shared_service, admin=True) as browser:
        page = await preview(browser, **named)
        assert "Nothing is known" in page.text
        assert not any(form.action.endswith("/run") for form in page.forms)


async def test_the_page_of_a_memory_that_was_taken_back_says_so(service: Service) -> None:
    await service.store("Ann drinks tea.", session_id="mail-1")
    async with browsing(service, admin=True) as browser:
        listed = await browser.open("/console/memories?agent=bot")
        page = await preview(browser, session_id="mail-1", agent_id="bot")
        await browser.send(page.form("/run"))
        page = await browser.open(listed.link("/memories/0"))
        assert page.status == 404
        assert "It was taken back on" in page.text
        assert "with the session mail-1" in page.text
    async with browsing(service, "rival", admin=True) as browser:
        page = await browser.open(listed.link("/memories/0"))
        assert (page.status, "taken back" in page.text) == (404, False)


async def test_what_was_done_is_told_by_the_row_of_the_act_of_the_own_tenant_alone(service: Service) -> None:
    await service.store("Ann drinks tea.", session_id="s")
    await service.store("Ann drinks milk.")
    answer = await service.client.get("/memories?agent_id=bot", headers=service.credential(admin=True))
    (kept,) = [each for each in answer.json()["memories"] if "milk" in each["content"]]
    async with browsing(service, admin=True) as browser:
        page = await preview(browser, session_id="s", agent_id="bot")
        page = await browser.send(page.form("/run"))
        act = page.query["act"]
        page = await browser.open(f"/console/undo?act={act}&memories=4000&done=yes&again={kept['id']}&seal=é")
        assert "1 memory deleted" in page.text
        assert "4 000" not in page.text
        assert "milk" not in page.text
        assert (await browser.open("/console/undo?act=none")).status == 404
    async with browsing(service, "rival", admin=True) as browser:
        assert (await browser.open(f"/console/undo?act={act}")).status == 404


async def test_the_newest_sources_are_listed_with_their_memories_each_a_link_to_its_preview(
    any_service: Service,
) -> None:
    writer = any_service.credential(agent="bot")
    for content in ("Ann drinks tea.", "Ann drinks milk."):
        body = {"agent_id": "bot", "content": content, "session_id": "mail 1"}
        await any_service.client.post("/store", json=body, headers=writer)
    await any_service.post("/store", {"agent_id": "bot", "content": "x"}, tenant="rival")
    async with browsing(any_service, admin=True) as browser:
        page = await browser.open("/console/undo")
        assert "mail 1 bot 2" in page.text
        shown = await browser.open(page.labelled("mail 1"))
        assert "2 memories are deleted" in shown.text
        id_ = jwt.decode(writer["Authorization"].removeprefix("Bearer "), options={"verify_signature": False})["jti"]
        assert "The credential is revoked" in (await browser.open(page.labelled(id_))).text
    async with browsing(any_service, "rival", admin=True) as browser:
        assert "mail 1" not in (await browser.open("/console/undo")).text


async def test_a_memory_leads_to_the_undo_of_its_session_and_its_credential(service: Service) -> None:
    await service.store("Ann drinks tea.", session_id="s 1/2")
    async with browsing(service, admin=True) as browser:
        page = await browser.open("/console/memories?agent=bot")
        page = await browser.open(page.link("/memories/0"))
        assert "The session s 1/2 : 1 memory The credential" in page.text
        shown = await browser.open(page.labelled("The session s 1/2"))
        assert "1 memory is deleted" in shown.text
    async with browsing(service, agent="bot", admin=True) as browser:
        page = await browser.open("/console/memories")
        page = await browser.open(page.link("/memories/0"))
        assert "/console/undo" not in page.html


async def test_taking_back_leaves_a_row_of_an_administrative_act_and_looking_does_not(service: Service) -> None:
    await service.store("Ann drinks tea.", session_id="s")
    async with browsing(service, admin=True) as browser:
        page = await preview(browser, session_id="s", agent_id="bot")
        assert [act for act in await acts(service) if act["act"] == "taught.undo"] == []
        await browser.send(page.form("/run"))
    (act,) = [act for act in await acts(service) if act["act"] == "taught.undo"]
    assert (act["outcome"], act["channel"]) == ("done", "console")
    assert act["subject"]["session_id"] == "s"


@pytest.mark.parametrize(
    "named",
    [
        {"session_id": "s", "agent_id": ""},
        {"run_id": "no run"},
        {"run_id": "01K2Z7A1B2C3D4E5F6G7H8J9KM"},
        {"session_id": "s", "agent_id": "bot", "run_id": "01K2Z7A1B2C3D4E5F6G7H8J9KM"},
        {"credential_id": "x" * 65},
        {"session_id": "s" * 10_000, "agent_id": "bot"},
        {"agent_id": "bot"},
    ],
)
async def test_what_names_no_one_source_is_refused_beside_the_form(
    shared_service: Service, named: dict[str, str]
) -> None:
    async with browsing(shared_service, admin=True) as browser:
        page = await preview(browser, **named)
        assert page.status in {404, 422}
        assert page.form("/console/undo").method == "get"
        assert "Take it back" not in page.text


async def test_a_credential_does_not_take_back_its_own_work(shared_service: Service) -> None:
    credential = shared_service.credential(admin=True)
    id_ = jwt.decode(credential["Authorization"].removeprefix("Bearer "), options={"verify_signature": False})["jti"]
    async with browsing(shared_service, admin=True) as browser:
        await browser.sign_in(credential)
        assert (await preview(browser, credential_id=id_)).status == 422


@pytest.mark.parametrize("credential", [{"agent": "bot"}, {"agent": "bot", "admin": True}, {}])
async def test_only_an_administrator_of_all_agents_takes_a_source_back(
    taught: Service, credential: dict[str, Any]
) -> None:
    async with browsing(taught, **credential) as browser:
        page = await browser.open("/console/search?agent=bot")
        assert "/console/undo" not in page.html
        assert (await browser.open("/console/undo?session_id=s&agent_id=bot")).status == 403
        fields = {"session_id": "s", "agent_id": "bot", "form_key": page.form("/sign-out").fields["form_key"]}
        assert (await browser.send(Form("/console/undo/run", "post", fields))).status == 403
    assert await taught.contents("Ann") == ["Ann drinks tea."]


def test_every_form_of_an_administrator_does_an_act() -> None:
    forms = [route for page in PAGES for route in page.routes if route.method == "POST"]
    assert {route.act is not None for route in forms if "admin" in route.scopes} == {True}
    page = ConsolePage("x", "X", "", None)
    with pytest.raises(ValueError, match="declares no act"):
        page.post("/do", "admin")
    with pytest.raises(ValueError, match="is not and declares one"):
        page.post("/do", "write", act="taught.undo")


async def test_a_session_start_shows_what_the_agent_would_be_given(service: Service) -> None:
    await service.post("/facts", FACT | {"object": "Oslo"})
    await service.store("Ann drinks green tea.")
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/session-start")
        assert "Oslo" in page.text
        assert "green tea" not in page.text
        assert "No first message was given, so memories were not searched." in page.text
        page = await browser.send(page.form("/session-start"), query="what does Ann drink?")
        assert "were not searched" not in page.text
        assert "green tea" in page.text
        page = await browser.send(page.form("/session-start"), max_tokens="0")
        assert page.status == 422
        assert page.form("/session-start").fields["max_tokens"] == "0"


async def test_a_session_start_shows_the_summary_that_a_hook_gives(service: Service) -> None:
    await service.store("Ann drinks green tea.")
    async with browsing(service, agent="bot") as browser:
        page = await browser.open("/console/session-start")
        page = await browser.send(page.form("/session-start"), what="summary")
        assert "green tea" in page.text


async def test_a_session_start_of_an_empty_agent_says_so(shared_service: Service) -> None:
    async with browsing(shared_service, agent="empty") as browser:
        assert "would be given nothing" in (await browser.open("/console/session-start")).text
