"""What was said is kept while the service is away, delivered later in its order, and stored once."""

import asyncio
import fcntl
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from memory_gateway_hook.failures import SpoolFull
from memory_gateway_hook.spool import Spool
from tests.clients.hooks import (
    Pinned,
    add,
    event,
    held,
    line,
    pinned_to,
    run,
    run_with,
    transcript_of,
    until_delivered,
    well,
)
from tests.support.service import Service

pytestmark = pytest.mark.thorough

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def pinned(url: str, service: Service, tmp_path: Path) -> Pinned:
    return pinned_to(service, url, tmp_path)


def ended(session: str, path: Path) -> str:
    return event("SessionEnd", session_id=session, transcript_path=str(path))


def said(*messages: tuple[str, str], session: str = "one") -> str:
    listed = [{"role": role, "content": content} for role, content in messages]
    return json.dumps({"session_id": session, "cwd": "/srv", "messages": listed})


@asynccontextmanager
async def taking(status: int, *bodies: dict[str, Any]) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """Answer what is ingested with these bodies one after the other, the last again and again; note what comes."""
    came: list[dict[str, Any]] = []
    left = list(bodies)

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
        came.append(json.loads(await reader.readexactly(length)))
        answer = json.dumps(left.pop(0) if len(left) > 1 else left[0]).encode()
        writer.write(f"HTTP/1.1 {status} Status\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answered, "127.0.0.1") as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", came


async def test_what_was_said_while_the_service_was_away_is_delivered_in_its_order(
    pinned: Pinned, service: Service, tmp_path: Path
) -> None:
    for number in range(3):
        path = transcript_of(tmp_path / f"{number}.jsonl", line("user", f"statement number {number}"))
        done = await run(ended(f"session-{number}", path), pinned.but(url=NOWHERE))
        assert done.returncode == 0
    assert len(pinned.spooled) == 3
    assert await held(service) == []
    printed = await well(event("SessionStart", session_id="next"), pinned)
    assert "statement number 0" in printed
    await until_delivered(pinned)
    memories = await held(service)
    assert [(each["content"], each["session_id"]) for each in memories] == [
        (f"statement number {number}", f"session-{number}") for number in range(3)
    ]


async def test_a_prompt_has_what_waits_delivered_once_the_service_answers(
    pinned: Pinned, service: Service, tmp_path: Path
) -> None:
    path = transcript_of(tmp_path / "t.jsonl", line("user", "The door code of the office is 4711"))
    await run(ended("gone", path), pinned.but(url=NOWHERE))
    await run(event("UserPromptSubmit", session_id="here", prompt="Good morning to you"), pinned)
    await until_delivered(pinned)
    assert [each["content"] for each in await held(service)] == ["The door code of the office is 4711"]


async def test_what_waits_is_the_users_alone_and_has_no_credential(pinned: Pinned, tmp_path: Path) -> None:
    path = transcript_of(tmp_path / "t.jsonl", line("user", "tea"))
    await run(ended("one", path), pinned.but(url=NOWHERE))
    kept = [pinned.state, *pinned.state.rglob("*")]
    assert {stat.S_IMODE(each.stat().st_mode) for each in kept if each.is_dir()} == {0o700}
    assert {stat.S_IMODE(each.stat().st_mode) for each in kept if each.is_file()} == {0o600}
    assert not any(pinned.said["token"] in each.read_text() for each in kept if each.is_file())


async def test_a_folder_that_others_may_read_is_not_taken(pinned: Pinned, tmp_path: Path) -> None:
    path = transcript_of(tmp_path / "t.jsonl", line("user", "tea"))
    pinned.state.mkdir(mode=0o755)
    done = await run(ended("one", path), pinned)
    assert "must be a folder of yours that nobody else can read" in done.stderr
    assert list(pinned.state.iterdir()) == []


async def test_a_session_that_no_hook_has_ended_is_handed_over_when_the_next_begins(
    pinned: Pinned, service: Service, tmp_path: Path
) -> None:
    path = transcript_of(tmp_path / "t.jsonl", line("user", "I live in Oslo"))
    await well(event("SessionStart", session_id="killed", transcript_path=str(path)), pinned)
    assert await held(service) == []
    assert "I live in Oslo" in await well(event("SessionStart", session_id="next"), pinned)
    assert [(each["content"], each["session_id"]) for each in await held(service)] == [("I live in Oslo", "killed")]


async def test_only_what_is_new_of_a_transcript_is_kept_again(pinned: Pinned, service: Service, tmp_path: Path) -> None:
    path = transcript_of(tmp_path / "t.jsonl", line("user", "I live in Oslo"))
    away = pinned.but(url=NOWHERE)
    await run(ended("one", path), away)
    await run(ended("one", path), away)
    assert len(pinned.spooled) == 1
    add(path, line("user", "I moved to Bergen"))
    await run(ended("one", path), away)
    (message,) = json.loads(pinned.spooled[-1].read_text())["messages"]
    assert message["content"] == "I moved to Bergen"
    transcript_of(path, *(line("user", f"Another file, line {number}") for number in range(9)))
    await run(ended("one", path), away)
    assert len(json.loads(pinned.spooled[-1].read_text())["messages"]) == 9
    await well(event("SessionStart", session_id="next"), pinned)
    await until_delivered(pinned)
    assert len(await held(service)) == 11


async def test_a_parcel_that_was_delivered_and_not_removed_is_stored_once(
    pinned: Pinned, service: Service, tmp_path: Path
) -> None:
    path = transcript_of(tmp_path / "t.jsonl", *(line("user", f"statement {number}") for number in range(5)))
    await run(ended("one", path), pinned.but(url=NOWHERE))
    (parcel,) = pinned.spooled
    content = parcel.read_bytes()
    await well(event("SessionStart", session_id="next"), pinned)
    before = await held(service)
    parcel.write_bytes(content)
    parcel.chmod(0o600)
    await well(event("SessionStart", session_id="next"), pinned)
    assert not pinned.spooled
    assert await held(service) == before
    assert len(before) == 5


def test_a_full_spool_takes_nothing_more_and_keeps_what_it_has(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"), max_bytes=1000)
    messages = [[{"role": "user", "content": f"number {number} " + "x" * 200}] for number in range(20)]
    for taken in messages[:3]:
        spool.put("bot", "one", taken)
    for refused in messages[3:]:
        with pytest.raises(SpoolFull, match="the spool is full: 3 parcels wait"):
            spool.put("bot", "one", refused)
    kept = [parcel.messages[0]["content"].split()[1] for parcel in spool.parcels()]
    assert kept == ["0", "1", "2"]
    assert spool.waits()[1] <= 1000


@pytest.mark.parametrize(
    "written",
    [
        "[" * 100_000,
        '{"profile": ["bot"], "session": "one", "messages": []}',
        '{"profile": "bot", "session": "one", "messages": {"role": "user"}}',
        '{"profile": "bot", "session": "one", "messages": ["tea"]}',
    ],
    ids=["nested", "profile", "messages", "message"],
)
def test_a_file_that_is_no_parcel_keeps_no_parcel_from_being_delivered(written: str, tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    (tmp_path / "spool" / f"{1:020}.parcel").write_text(written)
    (tmp_path / "spool" / f"{2:020}.parcel").mkdir()
    (tmp_path / "spool" / f"{3:020}.parcel").symlink_to(f"{3:020}.parcel")
    (tmp_path / "spool" / "copy.parcel").write_text("mine")
    spool.put("bot", "one", [{"role": "user", "content": "tea"}])
    assert [parcel.messages[0]["content"] for parcel in spool.parcels()] == ["tea"]
    assert (tmp_path / "spool" / f"{1:020}.parcel.unreadable").read_text() == written
    assert (tmp_path / "spool" / "copy.parcel").read_text() == "mine"


def test_whether_anything_waits_is_told_by_parcels_alone(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    (tmp_path / "spool" / "copy.parcel").write_text("mine")
    assert spool.is_empty()
    spool.put("bot", "one", [{"role": "user", "content": "tea"}])
    assert not spool.is_empty()


async def test_a_full_spool_loses_nothing_of_a_transcript(pinned: Pinned, service: Service, tmp_path: Path) -> None:
    full = pinned.state / "spool" / f"{1:020}.parcel"
    await run(event("SessionStart"), pinned)
    waiting = {"profile": "bot", "session": "old", "messages": [{"role": "user", "content": "tea"}]}
    full.write_text(json.dumps(waiting).ljust(64 * 1024 * 1024))
    path = transcript_of(tmp_path / "t.jsonl", line("user", "I live in Oslo"))
    compacting = event("PreCompact", session_id="one", transcript_path=str(path))
    done = await run(compacting, pinned.but(url=NOWHERE))
    assert "the spool is full" in done.stderr
    assert "the spool is full" in json.loads(done.stdout)["systemMessage"]
    full.unlink()
    await well(event("SessionStart", session_id="next"), pinned)
    assert [each["content"] for each in await held(service)] == ["I live in Oslo"]


async def test_one_message_that_the_service_never_takes_keeps_no_other_from_it(pinned: Pinned) -> None:
    refused = {
        "code": "sensitive_content",
        "detail": "A text has a key.",
        "errors": [{"field": "messages.1.content", "message": "has a key"}],
    }
    taken = {"stored": 1, "known": 0, "waiting": 0, "failed": 0, "messages": []}
    async with taking(422, refused) as (url, came):
        done = await run(said(("user", "one"), ("user", "two"), ("user", "three")), pinned.but(url=url), "session-end")
    assert done.returncode == 0
    assert not pinned.spooled, "each was refused by itself"
    assert [len(each["messages"]) for each in came] == [3, 1, 2, 1, 1]
    async with taking(200, taken | {"summary": ""}) as (url, _):
        told = await run(event("SessionStart"), pinned.but(url=url))
        again = await run(event("SessionStart"), pinned.but(url=url))
    assert "did not take some messages, which are not remembered (3 sensitive_content)" in told.stdout
    assert again.stdout == ""


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"code": "unauthenticated", "detail": "x"}),
        (403, {"code": "forbidden", "detail": "x"}),
        (404, {"detail": "not here"}),
        (409, {"code": "erasing", "detail": "x"}),
        (422, {"code": "invalid_request", "detail": "x", "errors": [{"field": "profile", "message": "x"}]}),
        (422, {"detail": "the page of a proxy"}),
        (429, {"code": "quota_exceeded", "detail": "x"}),
        (503, {"code": "database_unavailable", "detail": "x"}),
        (200, {"stored": 0, "failed": 1, "messages": [{"status": "failed", "code": "storage_full"}]}),
        (200, {"hello": "world"}),
    ],
    ids=lambda value: value.get("code", "none") if isinstance(value, dict) else str(value),
)
async def test_what_the_service_may_take_later_stays(status: int, body: dict[str, Any], pinned: Pinned) -> None:
    async with taking(status, body) as (url, came):
        done = await run(said(("user", "one")), pinned.but(url=url), "session-end")
    assert done.returncode == 0
    assert len(came) == 1
    assert len(pinned.spooled) == 1


async def test_a_profile_that_takes_nothing_now_keeps_no_other_waiting(pinned: Pinned, service: Service) -> None:
    away = pinned.but(url=NOWHERE, agent=None)
    await run(said(("user", "of one that is not there")), away, "session-end", "--agent", "not an agent")
    await run(said(("user", "I live in Oslo")), away, "session-end", "--agent", "bot")
    await run(said(("user", "I like tea"), session="two"), pinned, "session-end")
    assert [each["content"] for each in await held(service)] == ["I live in Oslo", "I like tea"]
    assert len(pinned.spooled) == 1


@pytest.mark.parametrize("moment", ["2026-02-30T10:00:00Z", "9999-01-01T00:00:00Z", "2026-03-01T25:00:00+01:00"])
async def test_a_message_with_a_time_that_the_service_does_not_take_is_kept_without_it(
    pinned: Pinned, service: Service, moment: str
) -> None:
    messages = [
        {"role": "user", "content": "I live in Oslo", "timestamp": moment},
        {"role": "user", "content": "I like tea", "timestamp": "2026-03-01T10:00:00Z"},
    ]
    done = await run(json.dumps({"session_id": "one", "messages": messages}), pinned, "session-end")
    assert (done.returncode, done.stderr, pinned.spooled) == (0, "", [])
    memories = {each["content"]: each["occurred_at"] for each in await held(service)}
    assert memories.keys() == {"I live in Oslo", "I like tea"}
    assert memories["I like tea"] == "2026-03-01T10:00:00.000Z"


async def test_a_harness_is_told_when_its_messages_could_not_be_kept(pinned: Pinned) -> None:
    pinned.state.mkdir(mode=0o755)
    done = await run(said(("user", "one")), pinned, "session-end")
    assert done.returncode == 1
    assert "nobody else can read" in done.stderr


async def test_a_harness_is_told_when_its_messages_could_not_be_kept_in_time(pinned: Pinned) -> None:
    away = pinned.but(url=NOWHERE)
    kept = await run(said(("user", "one")), away, "session-end")
    assert (kept.returncode, len(pinned.spooled)) == (0, 1)
    with (pinned.state / "spool" / "lock").open("wb") as held_by_another:
        fcntl.flock(held_by_another, fcntl.LOCK_EX)
        done = await run(said(("user", "two")), away, "session-end")
        ended = await run(event("SessionEnd", messages=[{"role": "user", "content": "two"}]), away)
    assert (done.returncode, len(pinned.spooled)) == (1, 1)
    assert "there was no more time" in done.stderr
    assert ended.returncode == 0, "Claude Code goes on"


async def test_what_is_no_message_of_the_user_or_the_assistant_is_passed_over(pinned: Pinned, service: Service) -> None:
    listed: list[Any] = [
        {"role": "user", "content": "I live in Oslo", "timestamp": "2026-11-23T07:16:13.074Z"},
        {"role": "assistant", "content": [{"type": "text", "text": "Noted"}]},
        {"role": "tool", "content": "127.0.0.1"},
        {"role": "system", "content": "be brief"},
        7,
        {"role": "user"},
    ]
    given = json.dumps({"session_id": "one", "messages": listed})
    assert json.loads((await run(given, pinned, "pre-compact")).stdout)["notice"] is None
    assert {each["content"] for each in await held(service)} == {"I live in Oslo", "Noted"}


async def test_two_sessions_at_once_lose_nothing(pinned: Pinned, service: Service, tmp_path: Path) -> None:
    paths = [
        transcript_of(tmp_path / f"{name}.jsonl", *(line("user", f"{name} said {number}") for number in range(20)))
        for name in ("one", "two", "three", "four")
    ]
    await run(ended("first", paths[0]), pinned.but(url=NOWHERE))
    await run(event("UserPromptSubmit", prompt=""), pinned)  # writes the file with the service's address again
    events = [ended(path.stem, path) for path in paths] * 2
    done = await asyncio.gather(*(run_with(each, pinned) for each in events))
    assert [each.returncode for each in done] == [0] * len(events)
    await until_delivered(pinned)
    contents = [(each["content"], each["session_id"]) for each in await held(service)]
    expected = {(f"{path.stem} said {number}", path.stem) for path in paths for number in range(20)}
    expected |= {(f"one said {number}", "first") for number in range(20)}
    assert sorted(contents) == sorted(expected)


async def test_a_profile_that_takes_nothing_still_tells_what_it_knows_and_why_parcels_wait(
    pinned: Pinned, service: Service
) -> None:
    await service.store("The door code of the office is 4711")
    await run(said(("user", "of one that is not there")), pinned, "session-end", "--agent", "not an agent")
    assert len(pinned.spooled) == 1
    printed = json.loads((await run(event("SessionStart"), pinned)).stdout)
    assert "4711" in printed["hookSpecificOutput"]["additionalContext"]
    assert "what was said waits to be delivered: invalid_request" in printed["systemMessage"]


async def test_a_session_that_cannot_be_noted_still_recalls(pinned: Pinned, service: Service) -> None:
    await service.store("The door code of the office is 4711")
    question = event("UserPromptSubmit", prompt="What is the door code of the office?")
    await run(event("UserPromptSubmit", prompt=""), pinned)
    (noted,) = (pinned.state / "sessions").glob("*.json")
    noted.unlink()
    noted.mkdir()  # nothing can be written there, as on a full disk
    done = await run(question, pinned)
    assert "4711" in done.stdout
    assert "cannot be written" in done.stderr
