import json

from app.transfer.formats import Flaw
from app.transfer.record import Record
from tests.transfer.formats.foreign import AGENT, only, read, sample, written

NAME = "mcp-memory-service"


def test_memories_are_taken_with_their_agent_times_tags_and_hashes() -> None:
    first, second, third, lost = sample(NAME, "mcp_memory_service.json")
    assert first == Record(
        agent_id="ops-bot",
        content="The staging database is restored every Monday",
        metadata={
            "ticket": 481,
            f"{NAME}.content_hash": "9f1c",
            f"{NAME}.tags": ["ops", "database"],
            f"{NAME}.updated_at": 1772438400.0,
            f"{NAME}.memory_type": "decision",
            f"{NAME}.export_source": "workshop",
        },
        created_at=1772352000125,
    )
    assert second == Record(
        AGENT, "Deploys need two approvals", metadata={f"{NAME}.content_hash": "aa02"}, created_at=1772352000000
    )
    assert third == Record(
        AGENT, "Only the text of the time is left", metadata={"agent_id": "ops bot"}, created_at=1772352000000
    )
    assert lost == Flaw("memories[3]", "has no text in content")


def test_what_is_written_is_what_its_importer_asks_for() -> None:
    record = Record(
        "ops-bot", "a", metadata={f"{NAME}.tags": ["ops"], "agent_id": "whose?"}, session_id="s", created_at=1500
    )
    document = json.loads(written(NAME, [record, record]))
    (memory, _) = document["memories"]
    assert document["export_metadata"] == {"source_machine": "memory-gateway", "total_memories": 2}
    assert len(memory.pop("content_hash")) == 64
    assert memory == {
        "content": "a",
        "tags": ["ops"],
        "created_at": 1.5,
        "updated_at": 1.5,
        "metadata": {
            "memory_gateway": {"session_id": "s", "metadata": {"agent_id": "whose?"}},
            "agent_id": "ops-bot",
        },
    }


def test_one_text_of_two_agents_has_two_hashes_and_an_imported_one_keeps_its_own() -> None:
    memories = json.loads(written(NAME, [Record("a", "same"), Record("b", "same"), Record("a", "same")]))["memories"]
    assert memories[0]["content_hash"] == memories[2]["content_hash"] != memories[1]["content_hash"]
    theirs = only(NAME, '{"content": "same", "content_hash": "theirs"}')
    assert json.loads(written(NAME, [theirs]))["memories"][0]["content_hash"] == "theirs"


def test_lines_of_memories_are_read_one_by_one() -> None:
    assert read(NAME, '{"content": "a"}\n{"content": 7}\n') == [
        Record(AGENT, "a"),
        Flaw("line 2", "has no text in content"),
    ]
