"""What remember, recall, forget and list do and say, for an agent that is set to them."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from app.interfaces.tools.manifests import manifest
from app.interfaces.tools.profile_answers import QUOTED
from tests.interfaces.mcp.answers import answered, refused
from tests.interfaces.mcp.connections import over_http
from tests.services.compared import compare, of_one_thing
from tests.services.scripted_reader import INSTRUCTION, TASK, ScriptedReader
from tests.support.service import Service, serving

ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
SIGN = "Always sign mails with Best wishes, Ivar."
PLUMBER = "I need to call the plumber tomorrow."
NOTHING = "Nothing is known about that."


async def give(service: Service, agent: str) -> None:
    headers = service.credential(admin=True)
    answer = await service.client.put(f"/agents/{agent}", json={"tools": "profile"}, headers=headers)
    assert answer.status_code == 200


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """One service for all tests: each of them has memories of its own words."""
    async with serving(tmp_path_factory.mktemp("profile")) as service:
        await give(service, "bot")
        yield service


@pytest.fixture
async def client(service: Service) -> AsyncIterator[Client]:
    async with over_http(service, service.credential(agent="bot")) as client:
        yield client


async def corrected(service: Service, client: Client, *contents: str) -> None:
    """Remember one after the other, of which a reader finds that each takes the place of the one before it."""
    for content in contents:
        await told(client, "remember", content)
    await compare(service.runtime.backends, ScriptedReader(of_one_thing(*contents)))


async def told(client: Client, tool: str, argument: str) -> str:
    (name,) = next(each["inputSchema"]["required"] for each in manifest("mcp", "profile") if each["name"] == tool)
    text: str = (await answered(client, tool, **{name: argument}))["answer"]
    return text


def ids(text: str) -> list[str]:
    return re.findall("01[0-9A-HJKMNP-TV-Z]{24}", text)


async def test_what_is_remembered_is_recalled_with_its_date_and_id(client: Client) -> None:
    assert await told(client, "remember", "Greta plays the cello in Uppsala.") == "Remembered."
    text = await told(client, "recall", "What does Greta play?")
    head, answer, *_ = text.splitlines()
    assert head == QUOTED
    assert "Greta plays the cello in Uppsala." in answer
    (id_,) = {found for line in text.splitlines() if "cello" in line for found in ids(line)}
    assert re.search(rf'^1\. {id_} \(20\d\d-\d\d-\d\d\): "Greta plays the cello in Uppsala."$', text, re.MULTILINE)


async def test_a_correction_is_remembered_in_place_of_what_held(service: Service, client: Client) -> None:
    await corrected(service, client, "Hugo's phone number is 555-0100.", "Hugo's phone number is 555-0199.")
    text = await told(client, "recall", "What is Hugo's phone number?")
    assert "555-0199" in text.splitlines()[1]
    assert "555-0100" not in await told(client, "list", "Hugo's phone number")


async def test_nothing_known_is_said_and_nothing_listed_too(service: Service, client: Client) -> None:
    assert await told(client, "recall", "zzyzx quux flibbertigibbet?") == NOTHING
    assert await told(client, "list", "zzyzx quux flibbertigibbet") == NOTHING
    await give(service, "empty")
    for about, says in (("", "Nothing is remembered yet."), ("events", "No events are remembered.")):
        answer = await service.call("list", {"about": about}, agent_id="empty")
        assert answer.json()["result"]["structuredContent"] == {"answer": says}


@pytest.fixture
def reader() -> ScriptedReader:
    """A reader that knows an instruction and a task."""
    return ScriptedReader(of_kinds={SIGN: INSTRUCTION, PLUMBER: TASK}, answers={("how to sign mails", SIGN): 0.9})


@pytest.fixture
async def with_reader(tmp_path: Path, reader: ScriptedReader) -> AsyncIterator[Service]:
    async with serving(tmp_path, change=lambda backends: replace(backends, reader=reader)) as service:
        await give(service, "bot")
        yield service


async def test_a_list_is_of_a_kind_of_a_subject_or_of_the_newest(with_reader: Service, reader: ScriptedReader) -> None:
    async with over_http(with_reader, with_reader.credential(agent="bot")) as client:
        await told(client, "remember", SIGN)
        task = await told(client, "remember", PLUMBER)
        assert re.fullmatch(r"Remembered until 20\d\d-\d\d-\d\d\.", task)
        await compare(with_reader.runtime.backends, reader)
        await _listed_by_kind(client)


async def _listed_by_kind(client: Client) -> None:
    tasks = await told(client, "list", " Tasks. ")
    assert "call the plumber" in tasks
    assert "Ivar" not in tasks
    assert re.search(r"\(20\d\d-\d\d-\d\d, task until 20\d\d-\d\d-\d\d\): ", tasks)
    assert "Ivar" in await told(client, "list", "instructions")
    assert "Ivar" in await told(client, "list", "how to sign mails")
    for newest in ({"about": ""}, {"about": "  "}, {"about": None}, {}):
        text = (await answered(client, "list", **newest))["answer"]
        assert text.index("call the plumber") < text.index("Ivar")


async def test_a_memory_is_forgotten_by_its_id_and_can_be_remembered_again(client: Client) -> None:
    content = "The code of the garage is 4711."
    await told(client, "remember", content)
    (id_,) = ids(await told(client, "list", "code of the garage"))[:1]
    for spelt in (id_, f" `{id_.lower()}` ", f"id: {id_}."):  # and again is the same
        text = await told(client, "forget", spelt)
        assert text.splitlines()[1].startswith(f"Forgotten: {id_} (")
        assert f'"{content}"' in text
    assert content not in await told(client, "recall", "What is the code of the garage?")
    assert content not in await told(client, "list", "")
    assert await told(client, "remember", content) == "Remembered."
    assert content in await told(client, "recall", "What is the code of the garage?")


async def test_words_forget_where_one_memory_is_clearly_meant_and_never_a_second_one(client: Client) -> None:
    await told(client, "remember", "Jonas is allergic to walnuts.")
    await told(client, "remember", "Jonas works at Volvo.")
    text = await told(client, "forget", "Jonas is allergic to walnuts")
    assert "Forgotten: " in text
    assert "walnuts" in text
    assert "Volvo" in await told(client, "list", "Jonas")
    again = await told(client, "forget", "Jonas is allergic to walnuts")
    assert "Nothing was forgotten: " in again
    assert "Volvo" in await told(client, "list", "Jonas")


async def test_words_that_may_mean_several_forget_nothing_and_show_them_with_their_ids(client: Client) -> None:
    both = {"Karin drinks black coffee.", "Karin drinks iced coffee."}
    for content in both:
        await told(client, "remember", content)
    text = await told(client, "forget", "Karin drinks coffee")
    assert text.splitlines()[1] == "Nothing was forgotten: more than one memory may be meant. Name one by its id:"
    assert {content for content in both if content in text} == both
    listed = await told(client, "list", "Karin coffee")
    assert {content for content in both if content in listed} == both
    (chosen,) = (found for line in text.splitlines() if "iced" in line for found in ids(line))
    assert "iced" in await told(client, "forget", chosen)
    listed = await told(client, "list", "Karin coffee")
    assert {content for content in both if content in listed} == {"Karin drinks black coffee."}


async def test_words_forget_no_memory_of_which_a_line_shows_only_a_part(client: Client) -> None:
    await told(client, "remember", "The log of the boat Svalan. " + "It sailed on. " * 60)
    text = await told(client, "forget", "the log of the boat Svalan")
    assert text.splitlines()[1].startswith("Nothing was forgotten: no memory is clearly meant.")
    assert "Svalan" in await told(client, "list", "log of the boat Svalan")


async def test_words_that_say_what_no_longer_holds_do_not_forget_what_holds_in_its_place(
    service: Service, client: Client
) -> None:
    await corrected(service, client, "Nils lives in Ghent.", "Nils moved to Delft.")
    text = await told(client, "forget", "Nils lives in Ghent")
    assert text.splitlines()[1].startswith("Nothing was forgotten: no memory is clearly meant.")
    assert "Delft" in await told(client, "recall", "Where does Nils live?")


async def test_words_that_mean_nothing_forget_nothing(client: Client) -> None:
    assert await told(client, "forget", "zzyzx quux") == f"Nothing was forgotten: no memory is meant. {NOTHING}"


async def test_an_id_of_another_agent_or_tenant_is_as_one_that_is_nowhere(service: Service, client: Client) -> None:
    absent = await told(client, "forget", ABSENT)
    assert absent == "Nothing was forgotten: there is no memory with this id."
    for tenant, agent in (("acme", "other"), ("globex", "bot")):
        await service.store("a secret of theirs", tenant=tenant, agent_id=agent)
        (entry,) = await service.recall("a secret of theirs", tenant=tenant, agent_id=agent, top_k=1)
        assert await told(client, "forget", entry["id"]) == absent
        assert await service.contents("a secret of theirs", tenant=tenant, agent_id=agent) == ["a secret of theirs"]


async def test_a_superseded_memory_is_not_forgotten_and_the_one_that_holds_is_named(
    service: Service, client: Client
) -> None:
    number = "Lena's phone number is 555-0300."
    await told(client, "remember", number)
    (old,) = ids(await told(client, "list", "Lena's phone number"))[:1]
    await corrected(service, client, number, "Lena's phone number is 555-0311.")
    (new,) = ids(await told(client, "list", "Lena's phone number"))[:1]
    code, text = await refused(client, "forget", memory=old)
    assert code == "superseded"
    assert new in text


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("remember", {}, "content: field required"),
        ("remember", {"content": 5}, "content: "),
        ("remember", {"content": "\n"}, "content must "),
        ("remember", {"content": "x\0y"}, "content must "),
        ("remember", {"content": "x", "metadata": {}}, "metadata: is not a field"),
        ("recall", {}, "query: field required"),
        ("recall", {"query": "ä" * 513}, "query has 1026 bytes in UTF-8, at most 1024"),
        ("recall", {"query": "x", "top_k": 3}, "top_k: is not a field"),
        ("recall", {"words": "x"}, "query: field required; words: is not a field"),
        ("recall", {"query": "x", "question": "x"}, "query: is given a second time as `question`, its old name"),
        ("remember", {"text": 5}, "text: "),
        ("forget", {}, "memory: field required"),
        ("forget", {"memory": ["x"]}, "memory: "),
        ("forget", {"memory": "x" * 1025}, "memory has 1025 bytes"),
        ("forget", {"memory": "x", "agent_id": "other"}, "agent_id: is not a field"),
        ("list", {"about": 7}, "about: "),
        ("list", {"about": "x" * 1025}, "about has 1025 bytes"),
        ("list", {"about": "", "limit": 1000}, "limit: is not a field"),
    ],
)
async def test_a_wrong_argument_is_named_with_what_to_do(
    client: Client, tool: str, arguments: dict[str, Any], named: str
) -> None:
    code, text = await refused(client, tool, **arguments)
    assert code == "invalid_request"
    assert named in text
    assert text.endswith(". Correct what is named and try again.")


async def test_a_text_over_the_limit_is_to_be_shortened(client: Client) -> None:
    code, text = await refused(client, "remember", content="x" * 32_769)
    assert code == "content_too_large"
    assert "content has 32769 bytes" in text


async def test_a_text_of_any_script_is_remembered_and_found_by_itself(client: Client) -> None:
    for text in ("Åsa äter köttbullar på onsdagar.", "小林さんは京都に住んでいます。", "Мария любит чай 🍵."):
        await told(client, "remember", text)
        assert text in await told(client, "recall", text)
