import json

from app.model import Json
from app.transfer.formats import Flaw
from app.transfer.record import Record
from tests.transfer.formats.foreign import AGENT, read, sample, written


def test_passages_are_taken_without_their_vectors_and_deleted_ones_are_not() -> None:
    assert sample("letta", "letta.json") == [
        Record(
            "agent-00000000-0000-4000-8000-0000000000aa",
            "The customer's warehouse closes at noon on Fridays",
            metadata={
                "source": "call",
                "letta.id": "passage-00000000-0000-4000-8000-000000000001",
                "letta.tags": ["customer", "hours"],
                "letta.updated_at": "2026-05-07T00:00:00Z",
                "letta.archive_id": "archive-00000000-0000-4000-8000-0000000000bb",
            },
            created_at=1778051289010,
        ),
        Flaw("[1]", "is deleted"),
        Record(AGENT, "Bare", metadata={"letta.id": "passage-00000000-0000-4000-8000-000000000003"}),
    ]


def test_each_agent_of_an_agent_file_gets_the_blocks_it_holds() -> None:
    rules: dict[str, Json] = {"by": "ada", "letta.id": "block-0", "letta.label": "rules", "letta.limit": 5000}
    assert sample("letta", "letta_agent.af.json") == [
        Record("clerk", "Never promise a date", metadata=rules),
        Record("porter", "Never promise a date", metadata=rules),
        Flaw("blocks[1]", "has a blank text"),
        Record(AGENT, "Terse", metadata={"letta.id": "block-2", "letta.label": "persona", "letta.limit": 5000}),
    ]


def test_an_older_agent_file_has_its_blocks_in_core_memory() -> None:
    file = {"name": "clerk", "core_memory": [{"label": "human", "value": "Ada", "metadata_": {"a": 1}}, 7]}
    assert read("letta", json.dumps(file)) == [
        Record("clerk", "Ada", metadata={"a": 1, "letta.label": "human"}),
        Flaw("core_memory[1]", "is no JSON object"),
    ]


def test_an_agent_file_without_blocks_holds_no_memories() -> None:
    assert read("letta", '{"agents": [], "blocks": []}') == []


def test_what_is_written_is_what_creating_a_passage_takes() -> None:
    record = Record("clerk", "Bare", metadata={"letta.tags": ["a"], "n": 1}, created_at=1778051289010)
    assert json.loads(written("letta", [record])) == {
        "text": "Bare",
        "created_at": "2026-05-06T07:08:09.010Z",
        "tags": ["a"],
        "metadata": {"n": 1, "memory_gateway": {"agent_id": "clerk"}},
    }
