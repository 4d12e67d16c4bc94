import json

import pytest

from app.errors import InvalidRequest
from app.transfer.record import Record
from tests.transfer.formats.foreign import AGENT, read, sample, written

NAME = "cloudflare-agent-memory"


def test_a_listed_memory_has_its_summary_for_a_text_and_says_so() -> None:
    listed, full = sample(NAME, "cloudflare_agent_memory.json")
    assert listed == Record(
        AGENT,
        "Answer in one paragraph",
        metadata={
            f"{NAME}.id": "01JZ0000000000000000000001",
            f"{NAME}.type": "instruction",
            f"{NAME}.text": "summary",
        },
        session_id="chat-7",
        created_at=1780819750011,
    )
    assert full == Record(
        AGENT,
        "Has two cats, Miso and Yuzu, since 2024.",
        metadata={
            f"{NAME}.id": "01JZ0000000000000000000002",
            f"{NAME}.type": "fact",
            f"{NAME}.summary": "Has two cats",
            f"{NAME}.updatedAt": "2026-06-09T08:09:10.011Z",
        },
        created_at=1780906150011,
    )


def test_answers_to_get_are_read_as_lines() -> None:
    answer = {"result": {"id": "m", "content": "a", "summary": "a"}, "success": True, "errors": [], "messages": []}
    record = Record(AGENT, "a", metadata={f"{NAME}.id": "m"})
    assert read(NAME, json.dumps(answer)) == [record]
    assert read(NAME, f"{json.dumps(answer)}\n{json.dumps(answer)}\n") == [record, record]


@pytest.mark.parametrize(
    "answer",
    [
        {"result": None, "success": False, "errors": [{"code": 10008, "message": "no"}]},
        {"result": {"summary": "## Summary"}, "success": True},
        {"result": {"answer": "a", "count": 1, "candidates": []}, "success": True},
    ],
)
def test_other_answers_hold_no_memories(answer: object) -> None:
    with pytest.raises(InvalidRequest, match="not of the format cloudflare-agent-memory"):
        read(NAME, json.dumps(answer))


def test_a_session_too_long_for_agent_memory_is_left_out() -> None:
    records = [Record("ada", "a", session_id="s" * length) for length in (64, 65)]
    bodies = [json.loads(line) for line in written(NAME, records).splitlines()]
    assert bodies == [{"content": "a", "sessionId": "s" * 64}, {"content": "a"}]
