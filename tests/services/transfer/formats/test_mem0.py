import json

import pytest

from app.domain.moments import milliseconds, parse_moment
from app.services.transfer.formats import Flaw
from app.services.transfer.record import Record
from tests.services.transfer.formats.foreign import AGENT, only, read, sample


def _at(text: str) -> int:
    return milliseconds(parse_moment(text))


def test_memories_are_taken_with_agent_session_times_and_every_other_field() -> None:
    first, second, third, *_ = sample("mem0", "mem0.json")
    assert first == Record(
        agent_id="reporter",
        content="Wants the monthly report as a PDF",
        metadata={
            "topic": "reports",
            "mem0.id": "5b0c3f0e-3d1a-4a52-9a0e-1f6f2f1f0a01",
            "mem0.user_id": "ines",
            "mem0.app_id": "finance",
            "mem0.hash": "0a1b2c3d",
            "mem0.categories": ["preferences", "work"],
            "mem0.updated_at": "2026-02-04T00:00:00Z",
            "mem0.immutable": False,
            "mem0.score": 0.875,
        },
        session_id="run-12",
        created_at=_at("2026-02-03T18:15:30.250Z"),
        expires_at=_at("2026-12-31T00:00:00Z"),
    )
    assert second == Record(
        agent_id="ines",
        content="Lives in Porto",
        metadata={"mem0.id": "5b0c3f0e-3d1a-4a52-9a0e-1f6f2f1f0a02", "mem0.user_id": "ines"},
        created_at=_at("2026-02-03T18:15:30Z"),
    )
    assert isinstance(third, Record)
    assert (third.agent_id, third.metadata["mem0.user_id"]) == (AGENT, "ines@example.org")


def test_an_entry_that_cannot_be_taken_is_named_and_the_rest_goes_on() -> None:
    *_, blank, undated = sample("mem0", "mem0.json")
    assert blank == Flaw("results[3]", "has a blank text")
    assert undated == Flaw("results[4]", "created_at is no moment of the years 1 to 9999")


@pytest.mark.parametrize(
    "text",
    [
        '[{"memory": "a"}, {"memory": "b"}]',
        '{"memory": "a"}\n\n{"memory": "b"}\n',
        '{"results": [{"memory": "a"}]}\n{"results": [{"memory": "b"}]}',
        '\ufeff{\n  "memories": [\n{"memory": "a"},\n{"memory": "b"}\n]}',
    ],
)
def test_a_list_lines_and_pages_of_answers_are_read_alike(text: str) -> None:
    assert read("mem0", text) == [Record(agent_id=AGENT, content="a"), Record(agent_id=AGENT, content="b")]


def test_a_conversation_is_no_memory() -> None:
    said = {"role": "user", "content": "a"}
    assert read("mem0", json.dumps([{"messages": [said]}])) == [Flaw("[0]", "has no text in memory")]


def test_a_key_that_the_metadata_has_already_is_not_lost() -> None:
    record = only("mem0", '{"memory": "a", "id": "x", "metadata": {"mem0.id": "theirs", "mem0.id_": 1}}')
    assert record.metadata == {"mem0.id": "theirs", "mem0.id_": 1, "mem0.id__": "x"}
